#include "backend/cpu/unit_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bulksim {

namespace {

constexpr std::int64_t kTilesOfAUnit = 8;  // share the inverted items, which one thread builds

}  // namespace

void UnitQueue::submit(ItemChunk chunk) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || std::ssize(open_tiles_) < chunks_in_flight_; });
  rethrow();
  if (chunk.tiles.empty()) return;
  open_tiles_[chunks_] = std::ssize(chunk.tiles);
  const auto shared = std::make_shared<const ItemChunk>(std::move(chunk));
  waiting_.push_back({chunks_++, shared, shared->tiles});
  changed_.notify_all();
}

void UnitQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || open_tiles_.empty(); });
  rethrow();
}

std::optional<Unit> UnitQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return failure_ || !waiting_.empty(); });
  if (stop.stop_requested() || failure_) return std::nullopt;
  Unit unit = waiting_.front();
  unit.tiles = front_of_column();
  std::span<const TileId>& left = waiting_.front().tiles;
  left = left.subspan(unit.tiles.size());
  if (left.empty()) waiting_.pop_front();
  return unit;
}

/// As many of the waiting tiles of the first column as one thread takes: fewer towards the end, so
/// that none stays idle.
std::span<const TileId> UnitQueue::front_of_column() const {
  std::int64_t left = waiting_.back().chunk->tiles_to_come;
  for (const Unit& chunk : waiting_)
    left += std::ssize(chunk.tiles);
  const std::int64_t longest = std::clamp<std::int64_t>(left / threads_, 1, kTilesOfAUnit);
  const std::span<const TileId> tiles = waiting_.front().tiles;
  const auto end = std::ranges::find_if(
      tiles, [&](const TileId& tile) { return tile.column != tiles.front().column; });
  return tiles.first(static_cast<std::size_t>(std::min(longest, end - tiles.begin())));
}

void UnitQueue::done(Unit unit) {
  unit.chunk.reset();  // its memory goes before the next chunk may come
  const std::lock_guard lock(mutex_);
  const auto open = open_tiles_.find(unit.number);
  open->second -= std::ssize(unit.tiles);
  if (open->second == 0) open_tiles_.erase(open);
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
