#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// One HDF5 file of tiles, laid out before the first tile is computed and filled with pwrite.
///
///   | HDF5 metadata | tile (0, first) | tile (0, first + 1) .. | tile (1, first) ..   row-major
///   0               data_offset, aligned to 1 MiB
///
/// HDF5 describes the file and never writes a value: a killed run leaves every byte that was
/// written, and no flag to clear.
struct PartLayout {
  std::string dataset;           ///< "tiles", or "similarity" in a single-file result
  RowRange tile_columns;         ///< columns of tiles in this file
  std::int64_t data_offset = 0;  ///< of the first tile, in bytes
  std::int64_t tile_bytes = 0;
  std::int64_t file_bytes = 0;  ///< the file ends with its last tile

  std::int64_t offset(const TileGrid& grid, TileId tile) const {
    BULKSIM_EXPECT(tile_columns.begin <= tile.column && tile.column < tile_columns.end &&
                   tile.row < grid.rows());
    return data_offset +
           (tile.row * tile_columns.size() + tile.column - tile_columns.begin) * tile_bytes;
  }
  bool operator==(const PartLayout&) const = default;
};

/// Layout of a part without making a file: what `lay_out_part` would make.
PartLayout plan_part(const TileGrid& grid, RowRange tile_columns, const std::string& dataset);

/// Makes the file (it must not exist), reserves its space where the file system can, and syncs it.
/// Throws Error (74) with needed and free bytes when the space is not there.
void lay_out_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                  const PartLayout& layout);

/// The part files of a run, open for writing by any number of threads.
class TileFiles {
 public:
  /// `paths[p]` is the file of `layouts[p]`; files are opened when their first tile is written.
  TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
            std::vector<PartLayout> layouts);

  /// Query rows from `first_row` of a tile: a whole number of rows of tile.items values.
  void write(TileId tile, std::int64_t first_row, std::span<const float> values);
  /// Reads a whole tile back into `to` (tile.queries x tile.items values).
  void read(TileId tile, std::span<float> to);
  /// fdatasync of every file that was opened.
  void sync();

 private:
  struct Slot;
  FileCalls& calls_;
  TileGrid grid_;
  std::vector<std::string> paths_;
  std::vector<PartLayout> layouts_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace bulksim
