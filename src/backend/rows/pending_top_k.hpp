#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/rows/top_k_heaps.hpp"
#include "bulksim/backend/pair_filter_spec.hpp"

namespace bulksim {

/// What a tile, or one row of it, adds to the best pairs of its queries, held back until its checks
/// have held.
class PendingTopK {
 public:
  /// Begins with what is checked next, or begins it again.
  void begin();
  /// Drops from the pairs of a query those not above `floor`, and those that `cut.count` others of
  /// the tile precede. Returns the rank keys of the rest, in no order, until the next call. `row`
  /// is the query within the batch.
  std::span<const std::uint64_t> keep(const PairFilterSpec& spec, std::int64_t query,
                                      std::int64_t row, std::uint64_t floor,
                                      std::vector<ScoredItem>& pairs);
  void push_to(TopKHeaps& best) const;

 private:
  std::vector<std::uint64_t> rank_keys_;
  std::vector<std::pair<std::int64_t, std::size_t>> ends_;  // row and end of its rank keys
};

}  // namespace bulksim
