#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/file_pool.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// The tiles of a run or a result. Thread-safe; does not use HDF5.
class TileFiles {
 public:
  /// `paths[p]` is the file of `layouts[p]`; layouts are in the order of their columns and cover
  /// all tile columns.
  TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
            std::vector<PartLayout> layouts, TileAccess access);

  /// Writes query rows of a tile from `first_row` on: whole rows of tile.items values. When values
  /// are stored as float16, each must be representable as float16.
  void write(TileId tile, std::int64_t first_row, std::span<const float> values);
  /// Reads `to.size()` values of a tile (tile.queries x tile.items, row-major) from `first_cell`.
  void read(TileId tile, std::span<float> to, std::int64_t first_cell = 0);
  /// See FilePool.
  void sync() { files_.sync(); }

 private:
  TileGrid grid_;
  std::vector<PartLayout> layouts_;
  FilePool files_;
};

}  // namespace bulksim
