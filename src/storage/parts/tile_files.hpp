#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/file_pool.hpp"
#include "storage/parts/part_file.hpp"

namespace bulksim {

/// The tiles of a run or of a result, for any number of threads. HDF5 is not involved.
class TileFiles {
 public:
  /// `paths[p]` is the file of `layouts[p]`; layouts are in the order of their columns and cover
  /// all columns of the grid.
  TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
            std::vector<PartLayout> layouts, TileAccess access);

  /// Query rows from `first_row` of a tile: a whole number of rows of tile.items values. Where
  /// values are stored as float16, these have to be some.
  void write(TileId tile, std::int64_t first_row, std::span<const float> values);
  /// Reads `to.size()` values of a tile (tile.queries x tile.items, row-major) from `first_cell`.
  void read(TileId tile, std::span<float> to, std::int64_t first_cell = 0);
  /// As FilePool.
  void sync() { files_.sync(); }

 private:
  TileGrid grid_;
  std::vector<PartLayout> layouts_;
  FilePool files_;
};

}  // namespace bulksim
