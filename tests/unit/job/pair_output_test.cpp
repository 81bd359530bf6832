#include "job/sinks/pair_output.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/publish/pair_merge.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

/// An output of 4 tiles of 4 queries and 2^20 items.
class PairOutputTest : public testing::Test {
 protected:
  static constexpr std::int64_t kItems = std::int64_t{1} << 20;

  std::unique_ptr<PairOutput> make_output(bool mirrored = false) {
    file_ = std::make_unique<PairRunFile>(calls_, path_, plan_, grid_.shape());
    return std::make_unique<PairOutput>(
        grid_, *file_, progress_,
        PairOutput::Options{.mirrored = mirrored,
                            .most_pairs = std::numeric_limits<std::int64_t>::max()});
  }
  /// Writes `count` pairs of a query, with every second item.
  static void write_row(PairWriter& writer, std::int64_t query, std::int64_t first,
                        std::int64_t count) {
    std::vector<ScoredItem> pairs;
    for (std::int64_t at = 0; at < count; ++at)
      pairs.push_back({first + 2 * at, static_cast<float>(query)});
    writer.write({query, pairs});
  }
  PairRuns read() { return {calls_, {path_}, plan_, grid_}; }
  std::vector<std::int64_t> row_offsets(const PairRuns& runs) {
    return PairMerge(runs, grid_.shape().queries, {}).row_offsets();
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "rank0.pairs";
  Digest plan_{1, 2};
  TileGrid grid_{{8, 2 * kItems}, {4, kItems}};
  Log log_{{.level = LogLevel::kError}};
  Progress progress_{log_, 4, 0};
  std::unique_ptr<PairRunFile> file_;
};

TEST_F(PairOutputTest, AGroupOfMorePairsThanARunIsWholeOrAbsent) {
  const TileId tiles[] = {{0, 0}, {0, 1}};
  const auto output = make_output();
  const auto writer = output->make_writer();
  writer->begin({{tiles, 1}});
  write_row(*writer, 3, 0, kPairsOfARun / 2);
  writer->finish();
  writer->begin({{tiles + 1, 1}});
  for (std::int64_t query = 3; query >= 0; --query)
    write_row(*writer, query, kItems, kPairsOfARun / 2 + 1);
  output->finish();
  EXPECT_TRUE(read().has(grid_.number({0, 0})));
  EXPECT_FALSE(read().has(grid_.number({0, 1})));
  EXPECT_EQ(read().pairs(), kPairsOfARun / 2) << "only the first group is finished";

  writer->finish();
  output->finish();

  EXPECT_TRUE(read().has(grid_.number({0, 1})));
  const std::int64_t row = kPairsOfARun / 2 + 1;
  EXPECT_EQ(row_offsets(read()),
            (std::vector<std::int64_t>{0, row, 2 * row, 3 * row, 5 * row - 1, 5 * row - 1,
                                       5 * row - 1, 5 * row - 1, 5 * row - 1}));
}

TEST_F(PairOutputTest, RowsOfSeveralWritersAreMergedInTheOrderOfItems) {
  const TileId left{0, 0};
  const TileId right{0, 1};
  const auto output = make_output();
  const auto first = output->make_writer();
  const auto second = output->make_writer();
  second->begin({{&right, 1}});
  write_row(*second, 1, kItems, 3);
  second->finish();
  first->begin({{&left, 1}});
  write_row(*first, 1, 0, 2);
  first->finish();
  output->finish();

  const PairRuns runs = read();
  std::vector<std::int64_t> items;
  PairMerge(runs, grid_.shape().queries, {})
      .run({1, 2}, PairOrder::kByItem,
           [&](std::int64_t query, std::span<const std::int64_t> row, std::span<const float>) {
             EXPECT_EQ(query, 1);
             items.assign(row.begin(), row.end());
           });

  EXPECT_EQ(items, (std::vector<std::int64_t>{0, 2, kItems, kItems + 2, kItems + 4}));
}

TEST_F(PairOutputTest, MirrorImagesAreRowsOfTheirItems) {
  const TileId tile{0, 0};
  const auto output = make_output(true);
  const auto writer = output->make_writer();
  writer->begin({{&tile, 1}});
  write_row(*writer, 1, 1, 3);  // 1, 3, 5
  write_row(*writer, 2, 4, 2);  // 4, 6
  writer->finish();
  output->finish();

  // row 1: 1 3 5; row 2: 4 6; rows 3, 5: 1; rows 4, 6: 2
  EXPECT_EQ(row_offsets(read()), (std::vector<std::int64_t>{0, 0, 3, 5, 6, 7, 8, 9, 9}));
}

}  // namespace
}  // namespace bulksim
