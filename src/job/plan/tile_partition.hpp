#pragma once

#include <cstdint>
#include <vector>

#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "job/input/survey.hpp"
#include "job/plan/plan.hpp"

namespace bulksim {

/// The tiles that a plan needs: all, or those that can contain requested pairs.
std::vector<std::int64_t> tiles_of(const Plan& plan);

/// The `tiles` (numbers) with cells that pass the filter, whatever their score.
std::vector<std::int64_t> tiles_of(const PairFilterSpec& filter, const TileGrid& grid,
                                   const std::vector<std::int64_t>& tiles);

/// The `tiles` (numbers) in some rows of tiles.
std::vector<std::int64_t> tiles_in(RowRange rows, const TileGrid& grid,
                                   const std::vector<std::int64_t>& tiles);

/// The tiles of a to-do list (numbers of tiles, ascending) that each rank computes: contiguous
/// ranges of nearly equal predicted cost. A range ends within a column of tiles, or within a part,
/// where that balances better; a tile has one writer.
std::vector<std::vector<std::int64_t>> share_tiles(const std::vector<std::int64_t>& to_do,
                                                   const Plan& plan, const InputSurvey& items,
                                                   int ranks);

/// Item rows to read at once, and the tiles they are for.
struct ChunkTask {
  RowRange items;
  std::vector<TileId> tiles;
  std::int64_t tiles_to_come = 0;  ///< of later chunks
};

/// The chunks of one rank for one batch of queries (rows of tiles in `batch`).
std::vector<ChunkTask> make_chunks(const std::vector<std::int64_t>& tiles, const TileGrid& grid,
                                   RowRange batch, std::int64_t chunk_columns);

}  // namespace bulksim
