#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Queries of one panel: four per lane.
inline constexpr int kPanelQueries = 128;

/// Some query rows, dense over the labels that occur in them, for recomputing sums: item rows
/// gather panel rows and nothing is inverted, so the method is independent of the score kernel.
///
///   look[label / 32] -> k, as in ItemBlocks;   rows[k * 32 + lane] = values of queries 4 lane .. +
///   3
struct Panel {
  std::int64_t first_row = 0;  ///< of the tile
  int queries = 0;
  const uint2* look = nullptr;
  const int4* rows = nullptr;
};

/// Exact sums of a panel with the item rows of one column of tiles, for all blocks of the column:
/// sums[(row of the tile * blocks + block) * 1,024 + item]. Sums of items that do not exist are not
/// written.
void launch_panel(const Panel& panel, const ItemRows& rows, const BlockGrid& grid,
                  std::int64_t first_item, std::int64_t end_item, long long* sums,
                  const Stream& stream);

/// Computes values, row sums and partials of a group of one tile from such sums.
void launch_finish(const QueryRows& queries, const BlockGrid& grid, const TileGroup& group,
                   Output output, long long* sums, const Stream& stream);

}  // namespace bulksim::cuda
