#include "bulksim/storage/tile_inspection.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

namespace bulksim {

namespace {

constexpr std::int64_t kCellsAtOnce = std::int64_t{1} << 18;  // 1 MiB stays in cache

TileFinding inspect_tile(TileFiles& files, const TileGrid& grid, std::int64_t number,
                         std::vector<float>& buffer) {
  TileFinding finding;
  Hasher hasher;
  for (std::int64_t cell = 0; cell < grid.tile().cells(); cell += std::ssize(buffer)) {
    const auto count = std::min(grid.tile().cells() - cell, std::ssize(buffer));
    const auto some = std::span(buffer).first(static_cast<std::size_t>(count));
    files.read(grid.id(number), some, cell);
    hasher.update(std::as_bytes(some));
    finding.outside += count_outside(some);
  }
  finding.digest = hasher.digest();
  return finding;
}

}  // namespace

std::int64_t count_outside(std::span<const float> values) {
  std::int64_t inside = 0;
  for (const float value : values)
    inside += value >= -1.0F && value <= 1.0F ? 1 : 0;
  return std::ssize(values) - inside;
}

std::vector<TileFinding> inspect_tiles(TileFiles& files, const TileGrid& grid,
                                       const std::vector<std::int64_t>& tiles, int threads) {
  std::vector<TileFinding> findings(tiles.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    std::vector<float> buffer(
        static_cast<std::size_t>(std::min(kCellsAtOnce, grid.tile().cells())));
    try {
      for (std::size_t at = next++; at < tiles.size(); at = next++)
        findings[at] = inspect_tile(files, grid, tiles[at], buffer);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = tiles.size();
    }
  };
  {
    std::vector<std::jthread> helpers;
    const auto most = std::min<std::int64_t>(threads, std::ssize(tiles));
    for (std::int64_t helper = 1; helper < most; ++helper)
      helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return findings;
}

}  // namespace bulksim
