#include "storage/parts/tile_files.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/half.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kHalvesAtOnce = 32'768;

using Halves = std::array<std::uint16_t, kHalvesAtOnce>;

void write_halves(const File& file, std::span<const float> values, std::int64_t at) {
  Halves halves;
  while (!values.empty()) {
    const auto some = values.first(std::min(values.size(), halves.size()));
    std::ranges::transform(some, halves.begin(), [](float value) { return round_to_half(value); });
    file.write(std::as_bytes(std::span(halves).first(some.size())), at);
    at += 2 * std::ssize(some);
    values = values.subspan(some.size());
  }
}

void read_halves(const File& file, std::span<float> to, std::int64_t at) {
  Halves halves;
  while (!to.empty()) {
    const auto some = std::span(halves).first(std::min(to.size(), halves.size()));
    file.read(std::as_writable_bytes(some), at);
    std::ranges::transform(some, to.begin(), [](std::uint16_t half) { return widen_half(half); });
    at += 2 * std::ssize(some);
    to = to.subspan(some.size());
  }
}

}  // namespace

TileFiles::TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
                     std::vector<PartLayout> layouts, TileAccess access)
    : grid_(grid), layouts_(std::move(layouts)), files_(calls, std::move(paths), access) {}

void TileFiles::write(TileId tile, std::int64_t first_row, std::span<const float> values) {
  const std::size_t part = part_of(layouts_, tile.column);
  const PartLayout& layout = layouts_[part];
  const std::int64_t at =
      layout.offset(grid_, tile) + first_row * grid_.tile().items * bytes_of(layout.type);
  BULKSIM_EXPECT(first_row * grid_.tile().items + std::ssize(values) <= grid_.tile().cells());
  const FilePool::Use use = files_.use(part);
  if (layout.type == ValueType::kFloat16) {
    write_halves(use.file(), values, at);
  } else {
    use.file().write(std::as_bytes(values), at);
  }
}

void TileFiles::read(TileId tile, std::span<float> to, std::int64_t first_cell) {
  const std::size_t part = part_of(layouts_, tile.column);
  BULKSIM_EXPECT(first_cell + std::ssize(to) <= grid_.tile().cells());
  const PartLayout& layout = layouts_[part];
  const std::int64_t at = layout.offset(grid_, tile) + first_cell * bytes_of(layout.type);
  const FilePool::Use use = files_.use(part);
  if (layout.type == ValueType::kFloat16) {
    read_halves(use.file(), to, at);
  } else {
    use.file().read(std::as_writable_bytes(to), at);
  }
}

}  // namespace bulksim
