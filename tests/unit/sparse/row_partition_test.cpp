#include "sparse/row_partition.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

using Costs = std::vector<std::int64_t>;

std::int64_t cost_of(const Costs& costs, RowRange range) {
  return std::accumulate(costs.begin() + range.begin, costs.begin() + range.end, std::int64_t{0});
}

bool covers_in_order(const std::vector<RowRange>& ranges, std::size_t count) {
  std::int64_t at = 0;
  for (const RowRange range : ranges) {
    if (range.begin != at || range.end < at) return false;
    at = range.end;
  }
  return at == static_cast<std::int64_t>(count);
}

TEST(PartitionByCost, EqualCostsGiveEqualPieces) {
  const Costs costs(12, 5);

  const auto ranges = partition_by_cost(costs, 4);

  EXPECT_EQ(ranges, (std::vector<RowRange>{{0, 3}, {3, 6}, {6, 9}, {9, 12}}));
}

TEST(PartitionByCost, APieceIsOffByAtMostOneElement) {
  test::Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    Costs costs(static_cast<std::size_t>(random.below(300)));
    for (auto& cost : costs)
      cost = random.below(trial % 2 == 0 ? 10 : 1'000'000'000'000);
    const std::int64_t pieces = 1 + random.below(40);

    const auto ranges = partition_by_cost(costs, pieces);

    ASSERT_EQ(ranges.size(), static_cast<std::size_t>(pieces));
    ASSERT_TRUE(covers_in_order(ranges, costs.size()));
    const std::int64_t total = cost_of(costs, {0, static_cast<std::int64_t>(costs.size())});
    const std::int64_t largest = costs.empty() ? 0 : *std::ranges::max_element(costs);
    for (const RowRange range : ranges) {
      ASSERT_LE(std::abs(cost_of(costs, range) - total / pieces), largest + 1);
    }
  }
}

TEST(PartitionByCost, ABorderIsTheOneNearestToItsShare) {
  const Costs costs{7, 1, 1, 9, 2, 30, 4, 4};  // sums 7 8 9 18 20 50 54 58; shares 19.3, 38.7

  const auto ranges = partition_by_cost(costs, 3);

  EXPECT_EQ(ranges, (std::vector<RowRange>{{0, 5}, {5, 6}, {6, 8}}));
}

TEST(PartitionByCost, ABorderInTheMiddleOfAnElementGoesAfterIt) {
  const auto ranges = partition_by_cost(Costs{4, 4, 4}, 2);

  EXPECT_EQ(ranges, (std::vector<RowRange>{{0, 2}, {2, 3}}));
}

TEST(PartitionByCost, MorePiecesThanElementsLeaveSomeEmpty) {
  const auto ranges = partition_by_cost(Costs{5, 5}, 5);

  EXPECT_EQ(ranges.size(), 5U);
  EXPECT_TRUE(covers_in_order(ranges, 2));
  EXPECT_EQ(std::ranges::count_if(ranges, &RowRange::empty), 3);
}

TEST(PartitionByCost, NoElementsGiveEmptyPieces) {
  const auto ranges = partition_by_cost(Costs{}, 3);

  EXPECT_EQ(ranges, (std::vector<RowRange>(3, RowRange{0, 0})));
}

TEST(PartitionByCost, OnePieceIsEverything) {
  const auto ranges = partition_by_cost(Costs{1, 0, 3}, 1);

  EXPECT_EQ(ranges, (std::vector<RowRange>{{0, 3}}));
}

TEST(PartitionByCost, ElementsWithoutCostAreAllAssigned) {
  const auto ranges = partition_by_cost(Costs(10, 0), 4);

  EXPECT_TRUE(covers_in_order(ranges, 10));
}

TEST(PartitionByCost, CostsNear63BitsArePartitionedExactly) {
  const Costs costs(6, std::int64_t{1} << 60);

  const auto ranges = partition_by_cost(costs, 3);

  EXPECT_EQ(ranges, (std::vector<RowRange>{{0, 2}, {2, 4}, {4, 6}}));
}

}  // namespace
}  // namespace bulksim
