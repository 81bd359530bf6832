#include "storage/parts/pair_runs.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

class PairRunsTest : public testing::Test {
 protected:
  PairRuns read() { return {calls_, {path_}, plan_, grid_}; }
  PairRunFile create() { return {calls_, path_, plan_, grid_.shape()}; }
  /// Whether a file with only this run has the pairs of tile 1.
  bool counts(const PairRun& run) {
    create().append(run, 0, false);
    return read().has(1);
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "rank0.pairs";
  Digest plan_{1, 2};
  TileGrid grid_{{10, 10}, {8, 8}};  // tile 1 has queries 8 and 9
  const PairRun run_{{{1, 2}}, {8, 9}, {1, 2}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}};
};

TEST_F(PairRunsTest, AreReadAsTheyWereWritten) {
  create().append(run_, 0, false);

  const PairRuns runs = read();

  EXPECT_TRUE(runs.has(1));
  EXPECT_FALSE(runs.has(0));
  ASSERT_EQ(runs.size(), 1);
  EXPECT_EQ(runs.pairs(), 3);
  std::vector<std::int64_t> rows(2);
  std::vector<std::uint32_t> row_counts(2);
  runs.read_rows(0, 0, rows, row_counts);
  EXPECT_EQ(rows, run_.rows);
  EXPECT_EQ(row_counts, run_.counts);
  std::vector<std::int64_t> items(2);
  std::vector<float> scores(2);
  runs.read_pairs(0, 1, items, scores);
  EXPECT_EQ(items, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(scores, (std::vector<float>{0.25f, 1.0f}));
}

TEST_F(PairRunsTest, MayHaveMoreThanFourBillionItems) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const TileGrid grid({10, kFar + 1}, {8, kFar});
  PairRunFile(calls_, path_, plan_, grid.shape())
      .append({{{0, 1}}, {3}, {2}, {5, kFar}, {0.5f, 1.0f}}, 0, false);

  const PairRuns runs(calls_, {path_}, plan_, grid);

  std::vector<std::int64_t> items(2);
  std::vector<float> scores(2);
  runs.read_pairs(0, 0, items, scores);
  EXPECT_EQ(items, (std::vector<std::int64_t>{5, kFar}));
}

TEST_F(PairRunsTest, WithoutPairsNameTheirTiles) {
  EXPECT_TRUE(counts({{{0, 2}}, {}, {}, {}, {}}));
  EXPECT_EQ(read().size(), 0);
  EXPECT_EQ(count_tiles_of_runs(calls_, {path_}, plan_, grid_), 2);
}

TEST_F(PairRunsTest, ThatEndOpenCountTogetherWithTheNextOfTheirStream) {
  PairRunFile file = create();
  file.append({{}, {8}, {1}, {7}, {0.5f}}, 0, true);
  file.append({{{0, 1}}, {1}, {1}, {2}, {0.5f}}, 1, false);
  EXPECT_FALSE(read().has(1));
  EXPECT_EQ(read().pairs(), 1);

  file.append({{{1, 2}}, {9}, {1}, {7}, {0.5f}}, 0, false);

  EXPECT_TRUE(read().has(1));
  EXPECT_EQ(read().pairs(), 3);
}

TEST_F(PairRunsTest, AfterADamagedOneOfTheirStreamAreIgnored) {
  PairRunFile file = create();
  file.append({{}, {8}, {1}, {7}, {0.5f}}, 0, true);
  file.append({{{1, 2}}, {9}, {1}, {7}, {0.5f}}, 0, false);
  const File damaged = File::open(calls_, path_, O_WRONLY);
  damaged.write(std::as_bytes(std::span("x", 1)), 64);

  EXPECT_FALSE(read().has(1));
  EXPECT_EQ(read().pairs(), 0);
}

TEST_F(PairRunsTest, MayBeInMoreFilesThanAProcessMayOpen) {
  constexpr std::int64_t kFiles = 150;
  std::vector<std::string> paths;
  for (std::int64_t file = 0; file < kFiles; ++file) {
    paths.push_back(folder_ / ("rank" + std::to_string(file) + ".pairs"));
    PairRunFile(calls_, paths.back(), plan_, grid_.shape())
        .append({{}, {file % 10}, {1}, {file}, {0.5f}}, 0, false);
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);

  const PairRuns runs(calls_, paths, plan_, grid_);
  std::int64_t sum = 0;
  for (std::int64_t run = 0; run < runs.size(); ++run) {
    std::int64_t item = 0;
    float score = 0.0f;
    runs.read_pairs(run, 0, {&item, 1}, {&score, 1});
    sum += item;
  }

  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(sum, kFiles * (kFiles - 1) / 2);
}

TEST_F(PairRunsTest, WhoseCountsDoNotAddUpAreIgnored) {
  EXPECT_FALSE(counts({{{1, 2}}, {8, 9}, {1, 3}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}}));
}

TEST_F(PairRunsTest, WhoseRowsDoNotAscendAreIgnored) {
  EXPECT_FALSE(counts({{{1, 2}}, {9, 8}, {1, 2}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}}));
}

TEST_F(PairRunsTest, OfQueriesOrTilesThatDoNotExistAreIgnored) {
  EXPECT_FALSE(counts({{{1, 2}}, {8, 10}, {1, 2}, {7, 0, 3}, {0.5f, 0.25f, 1.0f}}));
  EXPECT_EQ(read().pairs(), 0);
  remove_file(calls_, path_);
  EXPECT_FALSE(counts({{{1, 5}}, {8}, {1}, {7}, {0.5f}}));
}

}  // namespace
}  // namespace bulksim
