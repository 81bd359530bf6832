#include "backend/rows/top_k_heaps.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

namespace {

/// Pushes `all` in pieces and compares the floor after each with a sort of the numbers so far.
void expect_floors(std::int64_t items, std::int64_t count, const std::vector<std::uint64_t>& all,
                   std::size_t piece) {
  constexpr std::int64_t kQuery = 1;
  TopKHeaps best(3, items, count);
  const auto kept = static_cast<std::size_t>(std::min(items, count));
  for (std::size_t done = 0; done < all.size();) {
    const std::size_t size = std::min(piece, all.size() - done);
    best.prefetch(kQuery);
    best.push(kQuery, std::span(all).subspan(done, size));
    done += size;
    std::vector<std::uint64_t> sorted(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(done));
    std::ranges::sort(sorted, std::greater<>());
    ASSERT_EQ(best.floor(kQuery), done < kept ? 0 : sorted[kept - 1])
        << count << " of " << items << " after " << done << " in pieces of " << piece;
  }
  EXPECT_EQ(best.floor(kQuery - 1), 0U);
  EXPECT_EQ(best.floor(kQuery + 1), 0U);
}

TEST(TopKHeaps, FloorIsTheLowestOfTheBestSoFar) {
  std::vector<std::uint64_t> random;
  for (std::uint64_t number = 0; number < 700; ++number)
    random.push_back(mix(number, 1));
  random[300] = ~std::uint64_t{0};  // the highest possible
  std::vector<std::uint64_t> ascending = random;
  std::ranges::sort(ascending);
  const std::vector<std::uint64_t> descending(ascending.rbegin(), ascending.rend());
  for (const auto& all : {random, ascending, descending}) {
    for (const std::int64_t count : {1, 2, 3, 4, 7, 100, 699, 700, 10'000}) {
      for (const std::size_t piece : {1U, 13U, 700U})
        expect_floors(700, count, all, piece);
    }
  }
}

TEST(TopKHeaps, NeedsMemoryForNoMoreThanAllItems) {
  EXPECT_EQ(TopKHeaps::bytes(10, 50, 10'000), TopKHeaps::bytes(10, 50, 50));
}

}  // namespace

}  // namespace bulksim
