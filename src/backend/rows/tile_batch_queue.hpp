#pragma once

#include <atomic>
#include <condition_variable>
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

/// Tiles of a chunk for one thread: some of one column, or all that remain.
struct TileBatch {
  std::int64_t number;  ///< of the chunk, in order of submission
  std::shared_ptr<const ItemChunk> chunk;
  std::span<const TileId> tiles;
};

/// The leading tiles of `tiles` with the same column, at most `most`.
std::span<const TileId> same_column(std::span<const TileId> tiles, std::int64_t most);

/// Passes batches from the owner, which waits while `chunks_in_flight` chunks are unfinished, to
/// the workers on `threads` threads. The first failure of a worker ends all; submit() and drain()
/// rethrow it.
class TileBatchQueue {
 public:
  TileBatchQueue(int threads, std::int64_t chunks_in_flight)
      : threads_(threads), chunks_in_flight_(chunks_in_flight) {}

  void submit(ItemChunk chunk);
  /// Returns when no tile is open; rethrows a failure.
  void drain();
  /// Some tiles of one column; nullopt when the thread must end.
  std::optional<TileBatch> take(const std::stop_token& stop);
  /// The remaining tiles of a chunk; nullopt when the thread must end.
  std::optional<TileBatch> take_chunk(const std::stop_token& stop);
  /// Marks the tiles of a batch as finished.
  void done(TileBatch batch);
  void fail(std::exception_ptr failure);
  bool failed() const { return failed_; }

 private:
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  bool wait_for_tiles(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  TileBatch split_off(std::span<const TileId> tiles);
  std::span<const TileId> share_of_a_thread() const;

  int threads_;
  std::int64_t chunks_in_flight_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<TileBatch> waiting_;                    // remaining tiles of each chunk
  std::map<std::int64_t, std::int64_t> open_tiles_;  // per chunk in flight, by its number
  std::int64_t chunks_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace bulksim
