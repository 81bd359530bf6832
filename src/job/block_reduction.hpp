#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulksim/blocks/softmax_terms.hpp"
#include "bulksim/comm/communicator.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/block_map.hpp"

namespace bulksim {

/// Gives the terms of a whole tile.
using ReadTerms = std::function<void(TileId tile, std::span<BlockTerm> to)>;

/// The block sums of the terms that `read` gives, at every rank. `tiles` are the numbers of those
/// that this rank adds up: every tile is that of one rank. A collective.
BlockMap reduce_block_sums(const Plan& plan, const ReadTerms& read,
                           const std::vector<std::int64_t>& tiles, Communicator& comm);

/// Memory for block sums: two integers a query row, fine blocks as they are reduced and written,
/// and terms of a tile on each thread.
std::int64_t block_sum_bytes(const Plan& plan, int threads);

/// A map of the size that a plan asks for, without numbers.
BlockMap empty_block_map(const Plan& plan);

}  // namespace bulksim
