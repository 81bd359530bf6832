#pragma once

#include <cstdint>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// Merges the lists that all ranks have found for the queries of some rows of tiles, and passes
/// them to `sink` on the rank to which a row belongs. A collective.
///
/// `tiles` are those that are finished with these lists (ascending numbers, the same on all ranks).
void deliver_lists(const PairBackend& backend, const PairFilterSpec& filter, const TileGrid& grid,
                   RowRange rows, const std::vector<std::int64_t>& tiles, PairSink& sink,
                   Communicator& comm);

}  // namespace bulksim
