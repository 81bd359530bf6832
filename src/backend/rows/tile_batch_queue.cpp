#include "backend/rows/tile_batch_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bulksim {

namespace {

constexpr std::int64_t kTilesPerBatch = 8;  // they share the items that one thread inverts

}  // namespace

std::span<const TileId> same_column(std::span<const TileId> tiles, std::int64_t most) {
  const auto end = std::ranges::find_if(
      tiles, [&](const TileId& tile) { return tile.column != tiles.front().column; });
  return tiles.first(std::min(most, end - tiles.begin()));
}

void TileBatchQueue::submit(ItemChunk chunk) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || std::ssize(open_tiles_) < chunks_in_flight_; });
  rethrow();
  if (chunk.tiles.empty()) return;
  open_tiles_[chunks_] = std::ssize(chunk.tiles);
  const auto shared = std::make_shared<const ItemChunk>(std::move(chunk));
  waiting_.push_back({chunks_++, shared, shared->tiles});
  changed_.notify_all();
}

void TileBatchQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || open_tiles_.empty(); });
  rethrow();
}

std::optional<TileBatch> TileBatchQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!wait_for_tiles(lock, stop)) return std::nullopt;
  return split_off(share_of_a_thread());
}

std::optional<TileBatch> TileBatchQueue::take_chunk(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!wait_for_tiles(lock, stop)) return std::nullopt;
  return split_off(waiting_.front().tiles);
}

bool TileBatchQueue::wait_for_tiles(std::unique_lock<std::mutex>& lock,
                                    const std::stop_token& stop) {
  changed_.wait(lock, stop, [&] { return failure_ || !waiting_.empty(); });
  return !stop.stop_requested() && !failure_;
}

/// Removes `tiles`, the first tiles of the first chunk, from the queue.
TileBatch TileBatchQueue::split_off(std::span<const TileId> tiles) {
  TileBatch batch = waiting_.front();
  batch.tiles = tiles;
  std::span<const TileId>& left = waiting_.front().tiles;
  left = left.subspan(tiles.size());
  if (left.empty()) waiting_.pop_front();
  return batch;
}

/// The waiting tiles of the first column for one thread: fewer towards the end, so that no thread
/// stays idle.
std::span<const TileId> TileBatchQueue::share_of_a_thread() const {
  std::int64_t left = waiting_.back().chunk->tiles_to_come;
  for (const TileBatch& chunk : waiting_)
    left += std::ssize(chunk.tiles);
  return same_column(waiting_.front().tiles,
                     std::clamp<std::int64_t>(left / threads_, 1, kTilesPerBatch));
}

void TileBatchQueue::done(TileBatch batch) {
  batch.chunk.reset();  // frees its memory before the next chunk is admitted
  const std::lock_guard lock(mutex_);
  const auto open = open_tiles_.find(batch.number);
  open->second -= std::ssize(batch.tiles);
  if (open->second == 0) open_tiles_.erase(open);
  changed_.notify_all();
}

void TileBatchQueue::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  failed_ = true;
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace bulksim
