#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/types.hpp"

namespace bulksim {

/// Divides 0 .. costs.size() into `pieces` contiguous ranges of nearly equal cost. Every border is
/// the nearest one to its share of the total, so that a piece is off by at most one element at each
/// end. Ranges may be empty when there are more pieces than elements.
std::vector<RowRange> partition_by_cost(std::span<const std::int64_t> costs, std::int64_t pieces);

}  // namespace bulksim
