#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulksim/blocks/softmax_partials.hpp"
#include "comm/communicator.hpp"
#include "job/plan/plan.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// Gives the partials of a whole tile.
using ReadPartials = std::function<void(TileId tile, std::span<SoftmaxPartial> to)>;

/// The block sums of the partials that `read` gives, at every rank. `tiles` are the numbers of
/// those that this rank adds up: every tile is that of one rank. A collective.
BlockMap reduce_block_sums(const Plan& plan, const ReadPartials& read,
                           const std::vector<std::int64_t>& tiles, Communicator& comm);

}  // namespace bulksim
