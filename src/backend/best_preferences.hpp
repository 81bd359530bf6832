#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace bulksim {

/// The `count` highest preferences of each query of a batch so far, shared by all workers. What is
/// not above the floor of its query is no part of the result.
class BestPreferences {
 public:
  BestPreferences(std::int64_t queries, std::int64_t count);

  /// The lowest of `count` preferences of a query; 0 while there are fewer.
  std::uint64_t floor(std::int64_t query) const {
    return floors_[static_cast<std::size_t>(query)].load(std::memory_order_relaxed);
  }
  /// Takes preferences of a query, each of which is offered once.
  void offer(std::int64_t query, std::span<const std::uint64_t> preferences);

  static std::int64_t bytes(std::int64_t queries, std::int64_t count);

 private:
  static constexpr std::size_t kLocks = 64;

  std::size_t count_;
  std::vector<std::vector<std::uint64_t>> best_;  // heaps, the lowest first
  std::vector<std::atomic<std::uint64_t>> floors_;
  std::mutex locks_[kLocks];
};

}  // namespace bulksim
