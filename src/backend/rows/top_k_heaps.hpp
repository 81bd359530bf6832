#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/prefetch.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// The `count` highest rank keys per query of a batch so far (at most one per item), shared by all
/// workers. A rank key that is not above the floor of its query is not part of the result.
class TopKHeaps {
 public:
  /// `floor` is below the rank keys of the result of every query, or 0.
  TopKHeaps(std::int64_t queries, std::int64_t items, std::int64_t count, std::uint64_t floor = 0);

  /// The lowest of the `count` rank keys of a query; the floor of all while there are fewer.
  std::uint64_t floor(std::int64_t query) const {
    return floors_[query].load(std::memory_order_relaxed);
  }
  /// Called before other work on a query whose rank keys will be pushed: its heap may be in the
  /// cache of another core.
  void prefetch(std::int64_t query) const {
    constexpr std::size_t kMost = 128;  // the top of a large heap
    bulksim::prefetch(heap(query), std::min(count_, kMost) * sizeof(std::uint64_t));
  }
  /// Adds rank keys of a query. Each rank key must be pushed only once.
  void push(std::int64_t query, std::span<const std::uint64_t> rank_keys);

  /// The best pairs so far of some rows of the matrix, of which `batch` are those of the heaps.
  /// Only for kBest.
  void for_each_list(RowRange batch, RowRange queries,
                     const std::function<void(const PairStripe&)>& take) const;

  static std::int64_t bytes(std::int64_t queries, std::int64_t items, std::int64_t count);

 private:
  static constexpr std::size_t kLocks = 64;

  const std::uint64_t* heap(std::size_t query) const {
    return heaps_.data() + query * (count_ + 1);
  }
  std::uint64_t* heap(std::size_t query) { return heaps_.data() + query * (count_ + 1); }

  std::size_t count_;
  AlignedBuffer<std::uint64_t> heaps_;  // per query: count_ numbers (a heap when full), sentinel
  std::vector<std::size_t> sizes_;
  std::vector<std::atomic<std::uint64_t>> floors_;
  std::mutex locks_[kLocks];
};

}  // namespace bulksim
