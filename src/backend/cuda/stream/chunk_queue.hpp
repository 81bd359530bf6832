#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim::cuda {

/// A chunk and how many of its tiles are not finished yet.
struct ChunkInFlight {
  ItemChunk chunk;
  std::int64_t tiles_left;
};

/// Chunks between their owner, who waits while two are in flight, and the thread that feeds the
/// device. The first failure anywhere ends all: whoever waits gets it.
class ChunkQueue {
 public:
  void submit(ItemChunk chunk) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || in_flight_ < kMostInFlight; });
    rethrow();
    if (chunk.tiles.empty()) return;
    const auto tiles = static_cast<std::int64_t>(chunk.tiles.size());
    waiting_.push_back(std::make_shared<ChunkInFlight>(ChunkInFlight{std::move(chunk), tiles}));
    ++in_flight_;
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || in_flight_ == 0; });
    rethrow();
  }

  /// Nothing when the thread shall end.
  std::optional<std::shared_ptr<ChunkInFlight>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || failure_ || !waiting_.empty(); });
    if (closed_ || failure_) return std::nullopt;
    auto chunk = std::move(waiting_.front());
    waiting_.pop_front();
    return chunk;
  }

  void tile_done(ChunkInFlight& chunk) {
    const std::lock_guard lock(mutex_);
    if (--chunk.tiles_left == 0) --in_flight_;
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr int kMostInFlight = 2;

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<ChunkInFlight>> waiting_;
  int in_flight_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace bulksim::cuda
