#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bulksim {

/// How blocks are chosen by their share of the mass.
enum class SelectBy {
  kShare,  ///< every block whose share of its row of blocks is at least the bound
  kMass,   ///< the shortest list of blocks, largest share first, that holds the bound's part of all
};

struct Selection {
  SelectBy by = SelectBy::kMass;
  double bound = 0.5;  ///< from 0 to 1

  bool operator==(const Selection&) const = default;
};

/// Numbers of the blocks by descending share; equal ones by number.
std::vector<std::int64_t> by_share(std::span<const double> shares);

/// 1 for each block that is chosen, 0 for the others.
std::vector<std::uint8_t> select_blocks(std::span<const double> shares, const Selection& selection);

}  // namespace bulksim
