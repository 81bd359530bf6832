#include "backend/best_preferences.hpp"

#include <algorithm>
#include <functional>

namespace bulksim {

namespace {

/// pop_heap and push_heap in one pass, for a heap whose least is in front.
void replace_front(std::vector<std::uint64_t>& heap, std::uint64_t value) {
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * hole + 1) {
    child += child + 1 < heap.size() && heap[child + 1] < heap[child];
    if (heap[child] >= value) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = value;
}

}  // namespace

BestPreferences::BestPreferences(std::int64_t queries, std::int64_t count)
    : count_(static_cast<std::size_t>(count)),
      best_(static_cast<std::size_t>(queries)),
      floors_(static_cast<std::size_t>(queries)) {}

void BestPreferences::offer(std::int64_t query, std::span<const std::uint64_t> preferences) {
  const auto at = static_cast<std::size_t>(query);
  const std::lock_guard lock(locks_[at % kLocks]);
  std::vector<std::uint64_t>& best = best_[at];
  for (const std::uint64_t preference : preferences) {
    if (best.size() < count_) {
      best.push_back(preference);
      std::push_heap(best.begin(), best.end(), std::greater<>());
    } else if (preference > best.front()) {
      replace_front(best, preference);
    }
  }
  if (best.size() == count_) floors_[at].store(best.front(), std::memory_order_relaxed);
}

std::int64_t BestPreferences::bytes(std::int64_t queries, std::int64_t count) {
  // a vector grows by doubling
  return queries * (2 * count * 8 + std::int64_t{sizeof(std::vector<std::uint64_t>)} + 8);
}

}  // namespace bulksim
