#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bulksim {

/// How blocks are selected by their share of the mass.
enum class SelectBy {
  kShare,  ///< every block whose share of its row of blocks is at least the bound
  kMass,   ///< the fewest blocks, by descending share, whose mass is at least `bound` of the total
};

struct Selection {
  SelectBy by = SelectBy::kMass;
  double bound = 0.5;  ///< from 0 to 1

  bool operator==(const Selection&) const = default;
};

/// Block numbers by descending share, by number where shares are equal.
std::vector<std::int64_t> by_share(std::span<const double> shares);

/// 1 for each selected block, 0 for the others.
std::vector<std::uint8_t> select_blocks(std::span<const double> shares, const Selection& selection);

}  // namespace bulksim
