#include "backend/rows/tile_batch_queue.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace bulksim {

namespace {

/// Columns of tiles beginning with `first`, each of `rows` tiles.
ItemChunk chunk(std::int64_t first, std::int64_t columns, std::int64_t rows,
                std::int64_t tiles_to_come = 0) {
  ItemChunk made;
  for (std::int64_t column = first; column < first + columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row)
      made.tiles.push_back({row, column});
  }
  made.tiles_to_come = tiles_to_come;
  return made;
}

/// Takes and finishes all batches; returns their sizes.
std::vector<std::size_t> sizes_of_batches(TileBatchQueue& queue, std::size_t tiles) {
  std::vector<std::size_t> sizes;
  std::vector<TileId> seen;
  while (seen.size() < tiles) {
    auto batch = queue.take({});
    sizes.push_back(batch->tiles.size());
    for (const TileId& tile : batch->tiles) {
      EXPECT_EQ(tile.column, batch->tiles.front().column);
      seen.push_back(tile);
    }
    queue.done(*std::move(batch));
  }
  const auto by_column = [](const TileId& a, const TileId& b) {
    return std::pair(a.column, a.row) < std::pair(b.column, b.row);
  };
  EXPECT_TRUE(std::ranges::is_sorted(seen, by_column));
  queue.drain();
  return sizes;
}

TEST(TileBatchQueue, BatchesAreTilesOfOneColumnAndShorterTowardsTheEnd) {
  TileBatchQueue queue(2, 9);
  queue.submit(chunk(0, 3, 10));

  const auto sizes = sizes_of_batches(queue, 30);

  // at most 8, at most half of all remaining tiles, and at most the rest of the column
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 2, 8, 2, 5, 2, 1, 1, 1}));
}

TEST(TileBatchQueue, WithTilesToComeAColumnIsNotDivided) {
  TileBatchQueue queue(4, 9);
  queue.submit(chunk(0, 1, 5, 100));

  EXPECT_EQ(sizes_of_batches(queue, 5), (std::vector<std::size_t>{5}));
}

TEST(TileBatchQueue, AFewTilesAreSharedByAllThreads) {
  TileBatchQueue queue(4, 9);
  queue.submit(chunk(0, 1, 4));

  EXPECT_EQ(sizes_of_batches(queue, 4), (std::vector<std::size_t>{1, 1, 1, 1}));
}

TEST(TileBatchQueue, SubmitWaitsUntilAllTilesOfAChunkAreDone) {
  TileBatchQueue queue(4, 2);
  queue.submit(chunk(0, 1, 2));
  queue.submit({});  // a chunk without tiles is done at once
  queue.submit(chunk(1, 1, 2));
  auto first = queue.take({});
  auto second = queue.take({});
  EXPECT_EQ(first->tiles.front().column, 0);
  EXPECT_EQ(second->tiles.front().column, 0);

  auto third = std::async(std::launch::async, [&] { queue.submit(chunk(2, 1, 2)); });
  queue.done(*std::move(first));
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  queue.done(*std::move(second));
  third.get();

  EXPECT_EQ(sizes_of_batches(queue, 4), (std::vector<std::size_t>{1, 1, 1, 1}));
}

TEST(TileBatchQueue, AFailureReachesEveryWaitingThread) {
  TileBatchQueue queue(1, 1);
  queue.submit(chunk(0, 1, 1));
  auto waiting = std::async(std::launch::async, [&] { queue.submit(chunk(1, 1, 1)); });

  queue.fail(std::make_exception_ptr(std::runtime_error("a worker")));

  EXPECT_THROW(waiting.get(), std::runtime_error);
  EXPECT_THROW(queue.drain(), std::runtime_error);
  EXPECT_FALSE(queue.take({}).has_value());
  EXPECT_TRUE(queue.failed());
}

}  // namespace

}  // namespace bulksim
