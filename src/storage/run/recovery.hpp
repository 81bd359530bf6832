#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/part_set.hpp"

namespace bulksim {

/// What earlier attempts at a plan have left that can be believed.
struct Recovery {
  /// By number of the tile, of those that are done: of the tile, or of its partials in a run
  /// without a matrix.
  std::vector<Digest> digests;
  std::vector<char> done;                  ///< by number of the tile: 1 or 0
  std::vector<std::int64_t> dropped;       ///< tiles that a journal names and that are not done
  std::vector<std::size_t> missing_parts;  ///< to be laid out anew
  std::int64_t rehashed = 0;
  std::int64_t damaged = 0;  ///< tiles whose bytes are not those of their record

  std::int64_t done_count() const;
  /// Numbers of the tiles that are not done, ascending.
  std::vector<std::int64_t> to_do() const;
};

/// Reads all journals of a plan and decides what is done. Tiles that were written but not synced
/// are hashed again, and a hundredth of the others; where one of these is damaged, all of its part.
/// So are their partials: a tile is done when both are whole.
/// The word of a later attempt counts more than that of an earlier one.
Recovery recover(FileCalls& calls, const Digest& plan, const TileGrid& grid, const PartSet& parts,
                 const std::vector<std::string>& journals, int threads);

/// Reads tiles (by number) and their partials, and returns those that have another digest than
/// `digests` tells by number.
std::vector<std::int64_t> damaged_tiles(FileCalls& calls, const TileGrid& grid,
                                        const PartSet& parts,
                                        const std::vector<std::int64_t>& tiles,
                                        const std::vector<Digest>& digests, int threads);

/// Makes a part with tiles to do writable: one that is shared with a published version is copied
/// first, so that the version stays as it is.
void make_writable(FileCalls& calls, const std::string& path);

}  // namespace bulksim
