#include "storage/parts/pair_segments.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

class PairSegmentsTest : public testing::Test {
 protected:
  /// What is read of a file with one segment, of tile 1.
  PairSegments write(const PairSegment& segment) {
    PairSegmentFile(calls_, path_, plan_).append(segment);
    return {calls_, {path_}, plan_, grid_};
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "rank0.pairs";
  Digest plan_{1, 2};
  TileGrid grid_{{10, 10}, {8, 8}};  // tile 1 has 2 rows and 8 columns
};

TEST_F(PairSegmentsTest, AreReadAsTheyWereWritten) {
  const PairSegments segments = write({1, {1, 2}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}});

  ASSERT_TRUE(segments.has(1));
  EXPECT_EQ(segments.pairs(), 3);
  EXPECT_EQ(segments.counts(1), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(PairSegmentsTest, MayHaveTheColumnsOfTheTileAsRows) {
  PairSegment segment{1, {1, 2}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}};
  segment.add_mirror_image(grid_.queries(1), grid_.items(0));

  EXPECT_EQ(write(segment).pairs(), 6);
}

TEST_F(PairSegmentsTest, WithAnotherNumberOfRowsAreIgnored) {
  EXPECT_FALSE(write({1, {1, 1, 1}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}}).has(1));
}

TEST_F(PairSegmentsTest, WhoseCountsDoNotAddUpAreIgnored) {
  EXPECT_FALSE(write({1, {1, 3}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}}).has(1));
}

}  // namespace
}  // namespace bulksim
