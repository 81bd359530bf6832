#include "blocks/selection.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "blocks/fine_grid.hpp"

namespace bulksim {
namespace {

using Mask = std::vector<std::uint8_t>;

TEST(Selection, ByShareSelectsEveryBlockAtOrAboveTheBound) {
  const std::vector<double> shares{0.1, 0.3, 0.29999, 0.3, 0.0};

  EXPECT_EQ(select_blocks(shares, {SelectBy::kShare, 0.3}), (Mask{0, 1, 0, 1, 0}));
  EXPECT_EQ(select_blocks(shares, {SelectBy::kShare, 0.0}), (Mask{1, 1, 1, 1, 1}));
}

TEST(Selection, ByMassSelectsTheFewestBlocksThatReachTheBound) {
  const std::vector<double> shares{0.125, 0.5, 0.25, 0.125};

  EXPECT_EQ(select_blocks(shares, {SelectBy::kMass, 0.5}), (Mask{0, 1, 0, 0}));
  EXPECT_EQ(select_blocks(shares, {SelectBy::kMass, 0.51}), (Mask{0, 1, 1, 0}));
  EXPECT_EQ(select_blocks(shares, {SelectBy::kMass, 1.0}), (Mask{1, 1, 1, 1}));
  EXPECT_EQ(select_blocks(shares, {SelectBy::kMass, 0.0}), (Mask{0, 0, 0, 0}));
}

TEST(Selection, SelectsTheLowerNumbersOfEqualBlocks) {
  const std::vector<double> shares{0.25, 0.25, 0.25, 0.25};

  EXPECT_EQ(select_blocks(shares, {SelectBy::kMass, 0.5}), (Mask{1, 1, 0, 0}));
  EXPECT_EQ(by_share(shares), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(FineGrid, DividesEachTileFromItsFirstRow) {
  const FineGrid grid(TileGrid({4'000, 700}, {1'500, 256}));

  EXPECT_EQ(grid.rows(), 5);
  EXPECT_EQ(grid.queries(0), (RowRange{0, 1'024}));
  EXPECT_EQ(grid.queries(1), (RowRange{1'024, 1'500}));
  EXPECT_EQ(grid.queries(2), (RowRange{1'500, 2'524}));
  EXPECT_EQ(grid.queries(4), (RowRange{3'000, 4'000}));
  EXPECT_EQ(grid.columns(), 3);
  EXPECT_EQ(grid.items(2), (RowRange{512, 700}));
  EXPECT_EQ(grid.block(), (TileShape{1'024, 256}));
}

TEST(FineGrid, HasNoBlocksForAMatrixWithoutCells) {
  EXPECT_EQ(FineGrid(TileGrid({0, 5}, {1, 5})).rows(), 0);
  EXPECT_EQ(FineGrid(TileGrid({5, 0}, {5, 1})).columns(), 0);
}

}  // namespace
}  // namespace bulksim
