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

/// Reads all partials of a tile into `to`.
using ReadPartials = std::function<void(TileId tile, std::span<SoftmaxPartial> to)>;

/// The block sums of the partials that `read` reads, at every rank. `tiles` are the numbers of the
/// tiles that this rank adds up; every tile belongs to exactly one rank. A collective.
BlockMap reduce_block_sums(const Plan& plan, const ReadPartials& read,
                           const std::vector<std::int64_t>& tiles, Communicator& comm);

}  // namespace bulksim
