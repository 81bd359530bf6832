#include "storage/parts/result_ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/error.hpp"
#include "storage/damaged.hpp"

namespace bulksim {

namespace {

StringTable load_padded(const File& file, const IdPlace& place, RowRange rows) {
  const std::size_t width = place.size.width;
  std::vector<char> text(rows.size() * width);
  file.read(std::as_writable_bytes(std::span(text)), place.text + rows.begin * place.size.width);
  StringTable ids;
  for (std::size_t at = 0; at < text.size(); at += width)
    ids.add({&text[at], ::strnlen(&text[at], width)});
  return ids;
}

}  // namespace

IdSize size_of(const StringTable& ids) {
  return {ids.size(), std::ssize(ids.bytes)};
}

IdSizes sizes_of(const ResultIds& ids) {
  return {size_of(ids.queries), size_of(ids.items)};
}

void write_ids(const File& file, const StringTable& ids, const IdPlace& place) {
  BULKSIM_EXPECT(size_of(ids) == place.size);
  if (ids.empty()) return;
  file.write(bytes_of(ids.offsets), place.offsets);
  file.write(std::as_bytes(std::span(ids.bytes)), place.text);
}

StringTable load_ids(const File& file, const IdPlace& place, RowRange rows) {
  if (place.size.count == 0 || rows.empty()) return {};
  if (place.size.width > 0) return load_padded(file, place, rows);
  StringTable ids;
  ids.offsets.resize(rows.size() + 1);
  file.read(std::as_writable_bytes(std::span(ids.offsets)), place.offsets + 8 * rows.begin);
  const std::int64_t first = ids.offsets.front();
  if (first < 0 || !std::ranges::is_sorted(ids.offsets) || ids.offsets.back() > place.size.bytes)
    throw damaged(file.path(), "has ids with invalid offsets");
  ids.bytes.resize(ids.offsets.back() - first);
  file.read(std::as_writable_bytes(std::span(ids.bytes)), place.text + first);
  for (std::int64_t& offset : ids.offsets)
    offset -= first;
  return ids;
}

}  // namespace bulksim
