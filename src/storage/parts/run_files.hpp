#pragma once

#include <cstdint>
#include <optional>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_files.hpp"

namespace bulksim {

/// The files that a run writes tile by tile.
class RunFiles {
 public:
  RunFiles(FileCalls& calls, const TileGrid& grid, const PartSet& parts, TileAccess access) {
    if (parts.has_matrix()) tiles_.emplace(calls, grid, parts.paths, parts.layouts, access);
    if (parts.has_partials()) partials_.emplace(calls, grid, parts.partials, parts.layouts, access);
  }

  TileFiles* tiles() { return tiles_ ? &*tiles_ : nullptr; }  ///< null without a matrix
  PartialFiles* partials() {
    return partials_ ? &*partials_ : nullptr;
  }  ///< null without block sums
  /// See FilePool.
  void sync() {
    if (partials_) partials_->sync();
    if (tiles_) tiles_->sync();
  }

 private:
  std::optional<TileFiles> tiles_;
  std::optional<PartialFiles> partials_;
};

}  // namespace bulksim
