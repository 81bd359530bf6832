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

/// Tiles of a chunk for one thread: whole rows of one band of columns, or all that remain.
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
///
/// The columns of a chunk are divided into bands, whose items a thread inverts once: it stays with
/// its band as long as there are tiles, and helps with another one only when all have a thread.
class TileBatchQueue {
 public:
  TileBatchQueue(int threads, std::int64_t chunks_in_flight, std::int64_t columns_of_a_band = 1)
      : threads_(threads),
        chunks_in_flight_(chunks_in_flight),
        columns_of_a_band_(columns_of_a_band) {}

  void submit(ItemChunk chunk);
  /// Returns when no tile is open; rethrows a failure.
  void drain();
  /// Some rows of a band, by row; nullopt when the thread must end.
  std::optional<TileBatch> take(const std::stop_token& stop, int thread = 0);
  /// The tiles of a chunk, by column; nullopt when the thread must end. Not with take().
  std::optional<TileBatch> take_chunk(const std::stop_token& stop);
  /// Marks the tiles of a batch as finished.
  void done(TileBatch batch);
  void fail(std::exception_ptr failure);
  bool failed() const { return failed_; }

 private:
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Remaining tiles of a band.
  struct Band {
    TileBatch rest;
    int owner;  ///< the thread that took tiles of it last, or kNobody
  };
  static constexpr int kNobody = -1;

  bool wait_for_tiles(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  std::deque<Band>::iterator band_for(int thread);
  std::size_t share_of_a_thread(std::span<const TileId> tiles) const;

  int threads_;
  std::int64_t chunks_in_flight_;
  std::int64_t columns_of_a_band_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Band> waiting_;                         // in order of submission
  std::map<std::int64_t, std::int64_t> open_tiles_;  // per chunk in flight, by its number
  std::int64_t chunks_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace bulksim
