#include "sparse/row_partition.hpp"

#include <algorithm>
#include <numeric>

#include "bulksim/core/error.hpp"

namespace bulksim {

std::vector<RowRange> partition_by_cost(std::span<const std::int64_t> costs, std::int64_t pieces) {
  BULKSIM_EXPECT(pieces > 0);
  const std::int64_t total = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
  std::vector<RowRange> ranges;
  std::int64_t sum = 0;
  std::size_t at = 0;
  for (std::int64_t piece = 1; piece <= pieces; ++piece) {
    const std::int64_t begin = at;
    const auto goal = static_cast<std::int64_t>(static_cast<__int128>(total) * piece / pieces);
    // an element goes to the piece that contains more of it, or to the left one if equal
    while (at < costs.size() && (piece == pieces || 2 * (goal - sum) >= costs[at])) {
      sum += costs[at++];
    }
    ranges.push_back({begin, static_cast<std::int64_t>(at)});
  }
  return ranges;
}

}  // namespace bulksim
