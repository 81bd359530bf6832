#include "backend/unit_queue.hpp"

#include <utility>
#include <vector>

namespace bulksim {

namespace {

constexpr std::size_t kChunksInFlight = 2;
constexpr std::size_t kTilesOfAUnit = 8;  // share the inverted items, which one thread builds

/// Cuts the tiles of a chunk into pieces of one column, shorter ones where threads would stay idle.
std::vector<std::span<const TileId>> cut(std::span<const TileId> tiles, int threads) {
  const std::size_t longest =
      std::clamp<std::size_t>(tiles.size() / static_cast<std::size_t>(threads), 1, kTilesOfAUnit);
  std::vector<std::span<const TileId>> pieces;
  while (!tiles.empty()) {
    const auto end = std::ranges::find_if(
        tiles, [&](const TileId& tile) { return tile.column != tiles.front().column; });
    const auto size = std::min(longest, static_cast<std::size_t>(end - tiles.begin()));
    pieces.push_back(tiles.first(size));
    tiles = tiles.subspan(size);
  }
  return pieces;
}

}  // namespace

void UnitQueue::submit(ItemChunk chunk, int threads) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || open_units_.size() < kChunksInFlight; });
  rethrow();
  if (chunk.tiles.empty()) return;
  const auto shared = std::make_shared<const ItemChunk>(std::move(chunk));
  const auto pieces = cut(shared->tiles, threads);
  for (const auto& tiles : pieces)
    waiting_.push_back({chunks_, shared, tiles});
  open_units_[chunks_++] = pieces.size();
  changed_.notify_all();
}

void UnitQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || open_units_.empty(); });
  rethrow();
}

std::optional<Unit> UnitQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return failure_ || !waiting_.empty(); });
  if (stop.stop_requested() || failure_) return std::nullopt;
  Unit unit = std::move(waiting_.front());
  waiting_.pop_front();
  return unit;
}

void UnitQueue::done(Unit unit) {
  unit.chunk.reset();  // its memory goes before the next chunk may come
  const std::lock_guard lock(mutex_);
  const auto open = open_units_.find(unit.number);
  if (--open->second == 0) open_units_.erase(open);
  changed_.notify_all();
}

void UnitQueue::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  failed_ = true;
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace bulksim
