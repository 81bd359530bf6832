#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/types.hpp"

namespace bulksim {

/// Cuts 0 .. costs.size() into `pieces` contiguous ranges of nearly equal cost: every border is the
/// one nearest to its share of the total, so a piece is off by at most one element at each end.
/// Ranges may be empty when there are more pieces than elements.
std::vector<RowRange> partition_by_cost(std::span<const std::int64_t> costs, std::int64_t pieces);

}  // namespace bulksim
