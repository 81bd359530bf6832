#include "backend/best_preferences.hpp"

#include <algorithm>
#include <functional>

namespace bulksim {

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
      std::pop_heap(best.begin(), best.end(), std::greater<>());
      best.back() = preference;
      std::push_heap(best.begin(), best.end(), std::greater<>());
    }
  }
  if (best.size() == count_) floors_[at].store(best.front(), std::memory_order_relaxed);
}

std::int64_t BestPreferences::bytes(std::int64_t queries, std::int64_t count) {
  // a vector grows by doubling
  return queries * (2 * count * 8 + std::int64_t{sizeof(std::vector<std::uint64_t>)} + 8);
}

}  // namespace bulksim
