#include "backend/rows/tile_batch_queue.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace bulksim {

namespace {

constexpr std::int64_t kRowsPerBatch = 8;    // they share the items that one thread inverts
constexpr std::int64_t kTilesPerBatch = 32;  // but a stop request takes effect between batches

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
  if (columns_of_a_band_ > 1) {
    std::ranges::sort(chunk.tiles, {}, [&](const TileId& tile) {
      return std::tuple(tile.column / columns_of_a_band_, tile.row, tile.column);
    });
  }
  const auto shared = std::make_shared<const ItemChunk>(std::move(chunk));
  const auto band_of = [&](const TileId& tile) { return tile.column / columns_of_a_band_; };
  for (std::span<const TileId> rest = shared->tiles; !rest.empty();) {
    const auto end = std::ranges::find_if(
        rest, [&](std::int64_t band) { return band != band_of(rest.front()); }, band_of);
    const auto tiles = rest.first(end - rest.begin());
    waiting_.push_back({{chunks_, shared, tiles}, kNobody});
    rest = rest.subspan(tiles.size());
  }
  ++chunks_;
  changed_.notify_all();
}

void TileBatchQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || open_tiles_.empty(); });
  rethrow();
}

std::optional<TileBatch> TileBatchQueue::take(const std::stop_token& stop, int thread) {
  std::unique_lock lock(mutex_);
  if (!wait_for_tiles(lock, stop)) return std::nullopt;
  const auto band = band_for(thread);
  band->owner = thread;
  std::span<const TileId>& left = band->rest.tiles;
  TileBatch batch = band->rest;
  batch.tiles = left.first(share_of_a_thread(left));
  left = left.subspan(batch.tiles.size());
  if (left.empty()) waiting_.erase(band);
  return batch;
}

std::optional<TileBatch> TileBatchQueue::take_chunk(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!wait_for_tiles(lock, stop)) return std::nullopt;
  TileBatch batch = waiting_.front().rest;
  batch.tiles = batch.chunk->tiles;
  while (!waiting_.empty() && waiting_.front().rest.number == batch.number)
    waiting_.pop_front();
  return batch;
}

bool TileBatchQueue::wait_for_tiles(std::unique_lock<std::mutex>& lock,
                                    const std::stop_token& stop) {
  changed_.wait(lock, stop, [&] { return failure_ || !waiting_.empty(); });
  return !stop.stop_requested() && !failure_;
}

/// The band of a thread, else the first without one, else the longest.
std::deque<TileBatchQueue::Band>::iterator TileBatchQueue::band_for(int thread) {
  const auto own = std::ranges::find(waiting_, thread, &Band::owner);
  if (own != waiting_.end()) return own;
  const auto free = std::ranges::find(waiting_, kNobody, &Band::owner);
  if (free != waiting_.end()) return free;
  return std::ranges::max_element(waiting_, {},
                                  [](const Band& band) { return band.rest.tiles.size(); });
}

/// Tiles of the next rows for one thread: fewer towards the end, so that no thread stays idle.
std::size_t TileBatchQueue::share_of_a_thread(std::span<const TileId> tiles) const {
  std::int64_t left = waiting_.back().rest.chunk->tiles_to_come;
  for (const Band& band : waiting_)
    left += std::ssize(band.rest.tiles);
  const std::int64_t most = std::clamp<std::int64_t>(left / threads_, 1, kTilesPerBatch);
  std::int64_t rows = 0;
  std::size_t count = 0;
  while (count < tiles.size() && rows < kRowsPerBatch) {
    std::size_t end = count + 1;
    while (end < tiles.size() && tiles[end].row == tiles[count].row)
      ++end;
    if (rows > 0 && static_cast<std::int64_t>(end) > most) break;
    count = end;
    ++rows;
  }
  return count;
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
