#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

/// Tiles of one column, for one thread.
struct Unit {
  std::int64_t number;  ///< of the chunk, in the order in which they came
  std::shared_ptr<const ItemChunk> chunk;
  std::span<const TileId> tiles;
};

/// Units between the owner, who waits while two chunks are in flight, and the workers. The first
/// failure of a worker ends all: whoever waits gets it.
class UnitQueue {
 public:
  /// Hands a chunk over, cut into units for `threads` workers.
  void submit(ItemChunk chunk, int threads);
  /// Returns when no unit is open; throws what went wrong.
  void drain();
  /// Nothing when the thread shall end.
  std::optional<Unit> take(const std::stop_token& stop);
  void done(Unit unit);
  void fail(std::exception_ptr failure);
  bool failed() const { return failed_; }

 private:
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Unit> waiting_;
  std::map<std::int64_t, std::size_t> open_units_;  // of each chunk in flight, by its number
  std::int64_t chunks_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace bulksim
