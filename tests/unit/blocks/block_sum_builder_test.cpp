#include <vector>

#include <gtest/gtest.h>

#include "blocks/block_sums.hpp"
#include "blocks/fine_grid.hpp"
#include "bulksim/blocks/softmax_partials.hpp"

namespace bulksim::test {
namespace {

/// Sums of a row of two tiles with these partials.
BlockSums sums_of(const TileGrid& grid, const std::vector<SoftmaxPartial>& of_whole_tile,
                  const std::vector<SoftmaxPartial>& of_narrow_tile) {
  BlockSumBuilder builder(grid, 20.0);
  for (const auto step : {&BlockSumBuilder::find_maxima, &BlockSumBuilder::add_weights,
                          &BlockSumBuilder::sum_blocks}) {
    (builder.*step)({0, 0}, of_whole_tile);
    (builder.*step)({0, 1}, of_narrow_tile);
  }
  return std::move(builder).finish();
}

TEST(BlockSumBuilder, PartialsPastTheEdgeOfTheMatrixAreInNoBlock) {
  const TileGrid grid({1, 4097}, {1, 4096});  // the second tile has one of its four fine blocks
  const std::vector<SoftmaxPartial> four(static_cast<std::size_t>(partials_per_tile(grid)),
                                         {std::int64_t{1} << 59, std::int64_t{1} << 30});

  const BlockSums sums = sums_of(grid, four, four);

  ASSERT_EQ(sums.fine.size(), 5U);
  for (const double sum : sums.fine)
    EXPECT_EQ(sum, sums.fine.front());
}

}  // namespace
}  // namespace bulksim::test
