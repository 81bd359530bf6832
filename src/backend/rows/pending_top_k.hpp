#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/rows/top_k_heaps.hpp"
#include "bulksim/backend/pair_filter_spec.hpp"

namespace bulksim {

/// Rank keys of a tile, or of one of its rows, pending until its checks have passed.
class PendingTopK {
 public:
  /// Begins the next tile or row, or restarts the current one.
  void begin();
  /// Drops the pairs of a query that are not above `floor` or not among the best `spec.count` of
  /// the tile. Returns the rank keys of the rest, unordered, valid until the next call. `row` is
  /// the query within the batch.
  std::span<const std::uint64_t> keep(const PairFilterSpec& spec, std::int64_t query,
                                      std::int64_t row, std::uint64_t floor,
                                      std::vector<ScoredItem>& pairs);
  void push_to(TopKHeaps& best) const;

 private:
  std::vector<std::uint64_t> rank_keys_;
  std::vector<std::pair<std::int64_t, std::size_t>> ends_;  // row and end of its rank keys
};

}  // namespace bulksim
