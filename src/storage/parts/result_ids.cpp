#include "storage/parts/result_ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kBytesAtOnce = std::int64_t{4} << 20;

/// Calls `step` for consecutive ranges of rows of about `kBytesAtOnce`.
template <class Step>
void in_pieces(RowRange rows, std::int64_t width, Step&& step) {
  const std::int64_t most = std::max<std::int64_t>(1, kBytesAtOnce / width);
  for (std::int64_t row = rows.begin; row < rows.end; row += most)
    step(RowRange{row, std::min(row + most, rows.end)});
}

}  // namespace

std::int64_t id_width(const StringTable& ids) {
  std::int64_t width = ids.empty() ? 0 : 1;
  for (std::int64_t row = 0; row < ids.size(); ++row)
    width = std::max(width, std::ssize(ids[row]));
  return width;
}

IdWidths widths_of(const ResultIds& ids) {
  return {id_width(ids.queries), id_width(ids.items)};
}

void write_ids(const File& file, const StringTable& ids, const IdPlace& place) {
  BULKSIM_EXPECT(ids.size() == (place.width == 0 ? 0 : place.count));
  std::vector<char> block;
  if (place.width == 0) return;
  in_pieces({0, place.count}, place.width, [&](RowRange rows) {
    block.assign(rows.size() * place.width, '\0');
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::string_view id = ids[row];
      std::copy(id.begin(), id.end(), block.begin() + (row - rows.begin) * place.width);
    }
    file.write(std::as_bytes(std::span<const char>(block)), place.at + rows.begin * place.width);
  });
}

StringTable load_ids(const File& file, const IdPlace& place, RowRange rows) {
  StringTable ids;
  std::vector<char> block;
  if (place.width == 0) return ids;
  const std::size_t width = place.width;
  in_pieces(rows, place.width, [&](RowRange some) {
    block.resize(some.size() * width);
    file.read(std::as_writable_bytes(std::span(block)), place.at + some.begin * place.width);
    for (std::size_t at = 0; at < block.size(); at += width)
      ids.add({&block[at], ::strnlen(&block[at], width)});
  });
  return ids;
}

}  // namespace bulksim
