#include "blocks/selection.hpp"

#include <algorithm>
#include <numeric>

namespace bulksim {

namespace {

void select_mass(std::span<const double> shares, double bound, std::vector<std::uint8_t>& mask) {
  const auto order = by_share(shares);
  double total = 0.0;
  for (const std::int64_t block : order)
    total += shares[block];
  double mass = 0.0;
  for (const std::int64_t block : order) {
    if (mass >= bound * total) return;
    mass += shares[block];
    mask[block] = 1;
  }
}

}  // namespace

std::vector<std::int64_t> by_share(std::span<const double> shares) {
  std::vector<std::int64_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return shares[a] > shares[b]; });
  return order;
}

std::vector<std::uint8_t> select_blocks(std::span<const double> shares,
                                        const Selection& selection) {
  std::vector<std::uint8_t> mask(shares.size());
  if (selection.by == SelectBy::kMass) {
    select_mass(shares, selection.bound, mask);
    return mask;
  }
  std::ranges::transform(shares, mask.begin(), [&](double share) {
    return static_cast<std::uint8_t>(share >= selection.bound);
  });
  return mask;
}

}  // namespace bulksim
