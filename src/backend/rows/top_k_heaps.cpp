#include "backend/rows/top_k_heaps.hpp"

#include <algorithm>
#include <limits>

namespace bulksim {

namespace {

// A heap with the least number first. A sentinel above all numbers follows it, so that an only
// child has a sibling too.
constexpr std::uint64_t kAboveAll = std::numeric_limits<std::uint64_t>::max();

/// Puts `value` at `hole` or below. Branch-free: which child is less cannot be predicted.
void sink(std::uint64_t* heap, std::size_t size, std::size_t hole, std::uint64_t value) {
  for (std::size_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
    child += static_cast<std::size_t>(heap[child + 1] < heap[child]);
    if (heap[child] >= value) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = value;
}

void make_heap(std::uint64_t* numbers, std::size_t size) {
  numbers[size] = kAboveAll;
  for (std::size_t hole = size / 2; hole-- > 0;)
    sink(numbers, size, hole, numbers[hole]);
}

}  // namespace

TopKHeaps::TopKHeaps(std::int64_t queries, std::int64_t items, std::int64_t count,
                     std::uint64_t floor)
    : count_(static_cast<std::size_t>(std::min(items, count))), sizes_(queries), floors_(queries) {
  for (auto& of_query : floors_)
    of_query.store(floor, std::memory_order_relaxed);
  heaps_.require(sizes_.size() * (count_ + 1));
}

void TopKHeaps::push(std::int64_t query, std::span<const std::uint64_t> rank_keys) {
  if (rank_keys.empty()) return;
  const std::size_t at = query;
  const std::lock_guard lock(locks_[at % kLocks]);
  std::uint64_t* best = heap(at);
  std::size_t& size = sizes_[at];
  if (size < count_) {
    const auto first = rank_keys.first(std::min(rank_keys.size(), count_ - size));
    std::ranges::copy(first, best + size);
    size += first.size();
    rank_keys = rank_keys.subspan(first.size());
    if (size < count_) return;
    make_heap(best, size);
  }
  for (const std::uint64_t rank_key : rank_keys) {
    if (rank_key > best[0]) sink(best, count_, 0, rank_key);
  }
  floors_[at].store(best[0], std::memory_order_relaxed);
}

void TopKHeaps::for_each_list(RowRange batch, RowRange queries,
                              const std::function<void(const PairStripe&)>& take) const {
  std::vector<ScoredItem> pairs;
  const std::int64_t end = std::min(batch.end, queries.end);
  for (std::int64_t query = std::max(batch.begin, queries.begin); query < end; ++query) {
    const std::size_t row = query - batch.begin;
    pairs.clear();
    for (const std::uint64_t key : std::span(heap(row), sizes_[row]))
      pairs.push_back({item_of(key), score_of(key)});
    std::ranges::sort(pairs, {}, &ScoredItem::item);
    if (!pairs.empty()) take({query, pairs});
  }
}

std::int64_t TopKHeaps::bytes(std::int64_t queries, std::int64_t items, std::int64_t count) {
  return queries * (8 * (std::min(items, count) + 1) + 16);
}

}  // namespace bulksim
