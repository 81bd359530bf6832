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

/// The verified work of earlier attempts at a plan.
struct Recovery {
  /// By tile number, for tiles that are done: the digest of the tile, or of its partials in a run
  /// without a matrix.
  std::vector<Digest> digests;
  std::vector<char> done;                  ///< by tile number: 1 or 0
  std::vector<std::int64_t> dropped;       ///< tiles that a journal records but that are not done
  std::vector<std::size_t> missing_parts;  ///< to be preallocated again
  std::int64_t rehashed = 0;
  std::int64_t damaged = 0;  ///< tiles whose bytes do not match their record

  std::int64_t done_count() const;
  /// Numbers of the tiles that are not done, in ascending order.
  std::vector<std::int64_t> to_do() const;
};

/// Reads all journals of a plan and determines which tiles are done. Hashes again the tiles that
/// were written but not synced, and one in a hundred of the others; when one of these is damaged,
/// all tiles of its part. Partials are treated likewise: a tile is done when both are intact.
/// Records of a later attempt override those of an earlier one.
Recovery recover(FileCalls& calls, const Digest& plan, const TileGrid& grid, const PartSet& parts,
                 const std::vector<std::string>& journals, int threads);

/// Reads tiles (by number) and their partials, and returns those whose digest differs from that in
/// `digests`.
std::vector<std::int64_t> damaged_tiles(FileCalls& calls, const TileGrid& grid,
                                        const PartSet& parts,
                                        const std::vector<std::int64_t>& tiles,
                                        const std::vector<Digest>& digests, int threads);

/// Makes a part with tiles to do writable. A part that is shared with a published version is copied
/// first, so that the version stays as it is.
void make_writable(FileCalls& calls, const std::string& path);

}  // namespace bulksim
