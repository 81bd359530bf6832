#include "storage/parts/tile_inspection.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "core/run/parallel.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kCellsAtOnce = std::int64_t{1} << 18;  // 1 MiB stays in cache

/// Counts NaN by row and column of one tile.
class NanCount {
 public:
  NanCount(const TileGrid& grid, TileId tile)
      : width_(grid.tile().items),
        queries_(grid.queries(tile.row).size()),
        items_(grid.items(tile.column).size()),
        rows_(grid.tile().queries),
        columns_(grid.tile().items) {}

  void add(std::int64_t first_cell, std::span<const float> values) {
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (!std::isnan(values[at])) continue;
      const std::int64_t cell = first_cell + static_cast<std::int64_t>(at);
      ++rows_[cell / width_];
      ++columns_[cell % width_];
    }
  }

  /// Cells in rows and columns that are entirely NaN.
  std::int64_t explained() const {
    const std::int64_t rows = std::count(rows_.begin(), rows_.end(), items_);
    const std::int64_t columns = std::count(columns_.begin(), columns_.end(), queries_);
    return rows * items_ + columns * queries_ - rows * columns;
  }

 private:
  std::int64_t width_;
  std::int64_t queries_;  // existing rows of the tile
  std::int64_t items_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> columns_;
};

TileFinding inspect_tile(TileFiles& files, const TileGrid& grid, std::int64_t number,
                         WholeNanRows nan_rows, float most, std::vector<float>& buffer) {
  TileFinding finding;
  std::optional<NanCount> nan;
  if (nan_rows == WholeNanRows::kCount) nan.emplace(grid, grid.id(number));
  Hasher hasher;
  for (std::int64_t cell = 0; cell < grid.tile().cells(); cell += std::ssize(buffer)) {
    const auto count = std::min(grid.tile().cells() - cell, std::ssize(buffer));
    const auto some = std::span(buffer).first(count);
    files.read(grid.id(number), some, cell);
    hasher.update(std::as_bytes(some));
    const std::int64_t outside = count_outside(some, most);
    finding.outside += outside;
    if (nan && outside > 0) nan->add(cell, some);
  }
  if (nan) finding.explained = nan->explained();
  finding.digest = hasher.digest();
  return finding;
}

}  // namespace

std::int64_t count_outside(std::span<const float> values, float most) {
  std::int64_t inside = 0;
  for (const float value : values)
    inside += value >= -most && value <= most ? 1 : 0;
  return std::ssize(values) - inside;
}

std::vector<TileFinding> inspect_tiles(TileFiles& files, const TileGrid& grid,
                                       const std::vector<std::int64_t>& tiles, int threads,
                                       WholeNanRows nan_rows, float most) {
  std::vector<TileFinding> findings(tiles.size());
  run_in_parallel(std::ssize(tiles), threads, [&](std::int64_t at) {
    kOnlySignals.check();
    std::vector<float> buffer(std::min(kCellsAtOnce, grid.tile().cells()));
    findings[at] = inspect_tile(files, grid, tiles[at], nan_rows, most, buffer);
  });
  return findings;
}

}  // namespace bulksim
