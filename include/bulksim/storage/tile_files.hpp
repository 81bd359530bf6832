#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/storage/part_file.hpp"

namespace bulksim {

enum class TileAccess { kRead, kReadWrite };

/// The tiles of a run or of a result, for any number of threads. HDF5 is not involved.
///
/// Files are opened when they are needed and closed by `sync`, which also happens when more than 64
/// are open: a process under `ulimit -n 256` can work on any number of parts.
class TileFiles {
 public:
  /// `paths[p]` is the file of `layouts[p]`; layouts are in the order of their columns and cover
  /// all columns of the grid.
  TileFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
            std::vector<PartLayout> layouts, TileAccess access);
  ~TileFiles();
  TileFiles(const TileFiles&) = delete;
  TileFiles& operator=(const TileFiles&) = delete;
  TileFiles(TileFiles&&) = delete;
  TileFiles& operator=(TileFiles&&) = delete;

  /// Query rows from `first_row` of a tile: a whole number of rows of tile.items values. Where
  /// values are stored as float16, these have to be some.
  void write(TileId tile, std::int64_t first_row, std::span<const float> values);
  /// Reads `to.size()` values of a tile (tile.queries x tile.items, row-major) from `first_cell`.
  void read(TileId tile, std::span<float> to, std::int64_t first_cell = 0);
  /// Makes durable everything that was written before this call. Once it has failed it fails for
  /// good: the system reports a lost page only once.
  void sync();

 private:
  struct OpenFile;
  struct Slot;
  class Use;
  std::size_t part_of(std::int64_t tile_column) const;
  Use use(std::size_t part);
  void sync_and_close(Slot& slot);

  FileCalls& calls_;
  TileGrid grid_;
  std::vector<std::string> paths_;
  std::vector<PartLayout> layouts_;
  TileAccess access_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<int> open_files_ = 0;
  std::mutex syncing_;
  std::exception_ptr sync_failure_;
};

}  // namespace bulksim
