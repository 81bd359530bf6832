#pragma once

#include <cstdint>
#include <optional>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/parts/term_files.hpp"
#include "storage/parts/tile_files.hpp"

namespace bulksim {

/// Everything that a run fills tile by tile.
class RunFiles {
 public:
  RunFiles(FileCalls& calls, const TileGrid& grid, const PartSet& parts, TileAccess access) {
    if (parts.has_matrix()) tiles_.emplace(calls, grid, parts.paths, parts.layouts, access);
    if (parts.has_terms()) terms_.emplace(calls, grid, parts.terms, parts.layouts, access);
  }

  TileFiles* tiles() { return tiles_ ? &*tiles_ : nullptr; }  ///< null without a matrix
  TermFiles* terms() { return terms_ ? &*terms_ : nullptr; }  ///< null without block sums
  /// As FilePool.
  void sync() {
    if (terms_) terms_->sync();
    if (tiles_) tiles_->sync();
  }

 private:
  std::optional<TileFiles> tiles_;
  std::optional<TermFiles> terms_;
};

}  // namespace bulksim
