#include "job/plan/plan.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "job/plan/schedule.hpp"
#include "job/plan/tile_partition.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

/// A survey of rows that all have `length` nonzeros, without reading anything.
InputSurvey even_survey(std::int64_t rows, std::int64_t columns, std::int64_t length) {
  InputSurvey survey;
  survey.rows = rows;
  survey.columns = columns;
  survey.longest_row = rows > 0 ? length : 0;
  survey.values.rounding.longest_rounded_row = survey.longest_row;
  for (std::int64_t begin = 0; begin < rows; begin += kRowBlockRows) {
    const std::int64_t size = std::min(kRowBlockRows, rows - begin);
    survey.row_blocks.push_back(
        {Digest{1, static_cast<std::uint64_t>(begin)}, size * length, size});
  }
  return survey;
}

Surveys even_surveys(std::int64_t queries, std::int64_t items, std::int64_t length = 10) {
  return {even_survey(queries, 100'000, length), even_survey(items, 100'000, length)};
}

TEST(Plan, TilesAndPartsFollowFromTheShapeAlone) {
  EXPECT_EQ(default_tile({50'000, 2'000'000}), (TileShape{1024, 4096}));
  EXPECT_EQ(default_tile({300, 100'000}), (TileShape{300, 2048}));  // 49 columns of tiles, not 25
  EXPECT_EQ(default_tile({300, 5'000}), (TileShape{300, 1024}));
  EXPECT_EQ(default_tile({7, 5}), (TileShape{7, 5}));
  EXPECT_EQ(default_tile({0, 0}), (TileShape{1, 1}));
  EXPECT_EQ(default_parts({50'000, 2'000'000}, 489), 24);  // 400 GB / 16 GiB
  EXPECT_EQ(default_parts({300, 5'000}, 5), 5);
  EXPECT_EQ(default_parts({1'000'000, 100'000'000}, 24'415), 240);
}

TEST(Plan, PartsCoverTheColumnsOfTilesInOrderAndBalanced) {
  const auto plan = make_plan({}, even_surveys(5'000, 1'000'000));

  std::int64_t next = 0;
  std::int64_t most = 0;
  for (const RowRange& part : plan.parts) {
    EXPECT_EQ(part.begin, next);
    EXPECT_FALSE(part.empty());
    next = part.end;
    most = std::max(most, part.size());
  }
  EXPECT_EQ(next, plan.grid.columns());
  EXPECT_LE(most, plan.grid.columns() / static_cast<std::int64_t>(plan.parts.size()) + 1);
}

TEST(Plan, TheTextContainsEverythingAndReadsBack) {
  const auto plan = make_plan({}, even_surveys(5'000, 100'000));

  const auto again = Plan::from_json(plan.to_json());

  EXPECT_EQ(again, plan);
  EXPECT_EQ(again.id(), plan.id());
  expect_error(ExitCode::kDataError, {"plan"}, [] { Plan::from_json("{}"); });
  expect_error(ExitCode::kDataError, {"plan"}, [] { Plan::from_json("no json"); });
}

TEST(Plan, WithImpossibleNumbersIsRefused) {
  const std::string text = read_file(std::string(BULKSIM_TEST_DATA) + "/../fuzz/corpus/plan/pairs");
  ASSERT_NO_THROW(Plan::from_json(text));
  const std::pair<std::string, std::string> changes[] = {
      {"\"tile\": {\n  \"queries\": 6", "\"tile\": {\n  \"queries\": 0"},
      {"\"tile\": {\n  \"queries\": 6", "\"tile\": {\n  \"queries\": 7"},
      {"\"rows\": 6", "\"rows\": -6"},
      {"\"rows\": 6", "\"rows\": 9000000000000000000"},
      {"   0,\n   1\n", "   0,\n   2\n"},
      {"   0,\n   1\n", "   1,\n   0\n"},
      {"\"partners\": 2", "\"partners\": 4"},
      {"\"keep\": 0", "\"keep\": -1"},
      {"\"columns\": 7", "\"columns\": 4294967297"},
      {"\"fraction_bits\": 26", "\"fraction_bits\": 4294967322"}};
  for (const auto& [from, to] : changes) {
    std::string changed = text;
    ASSERT_NE(changed.find(from), std::string::npos) << from;
    changed.replace(changed.find(from), from.size(), to);
    expect_error(ExitCode::kDataError, {"out of range"}, [&] { Plan::from_json(changed); });
  }
}

TEST(Plan, AnyChangeOfContentOrParametersIsAnotherPlan) {
  const auto surveys = even_surveys(5'000, 100'000);
  auto changed = surveys;
  changed.items.row_blocks[3].digest.low ^= 1;
  JobConfig other_tile;
  other_tile.tile = TileShape{512, 2048};

  const auto plan = make_plan({}, surveys);

  EXPECT_NE(make_plan({}, changed).id(), plan.id());
  EXPECT_NE(make_plan(other_tile, surveys).id(), plan.id());
  EXPECT_EQ(make_plan({}, surveys).id(), plan.id());
}

TEST(Plan, LongRowsOnBothSidesTakeQ30AndLongerOnesAreRefused) {
  EXPECT_EQ(make_plan({}, even_surveys(2, 2, 4'225)).arithmetic, kQ26);
  EXPECT_EQ(make_plan({}, even_surveys(2, 2, 4'226)).arithmetic, kQ30);
  const Surveys uneven{even_survey(2, 100'000, 10), even_survey(2, 100'000, 16'900)};
  EXPECT_EQ(make_plan({}, uneven).arithmetic, kQ30);
  EXPECT_LT(make_plan({}, even_surveys(2, 2, 1'080'000)).error_bound, 1e-6);
  expect_error(ExitCode::kDataError, {"1200000 nonzeros", "1e-6"},
               [] { make_plan({}, even_surveys(2, 2, 1'200'000)); });
}

TEST(Plan, RowsThatAreQuantizedExactlyMayHaveAnyLength) {
  auto surveys = even_surveys(2, 2, 5'000'000);
  surveys.queries.values.rounding = {2, 0};
  surveys.items.values.rounding = {1, 16'900};

  const auto plan = make_plan({}, surveys);

  EXPECT_EQ(plan.arithmetic, kQ26);
  EXPECT_EQ(plan.error_bound, cosine_bound(0, 16'900, kQ26));
}

TEST(Plan, TheBoundOfDotProductsIsZeroWhereFloat32HoldsThemAll) {
  JobConfig config;
  config.metric = Metric::kDot;
  auto surveys = even_surveys(2, 2, 9);
  surveys.items.values.rounding = {2, 0};
  const auto bound = [&](double longest) {
    surveys.queries.values = {{2, 0}, longest, -2};
    surveys.items.values.longest = 64.0;
    surveys.items.values.least_exponent = 1;
    return make_plan(config, surveys).error_bound;
  };

  EXPECT_EQ(bound(0x1p17), 0.0);  // 2^23 in steps of 1/2
  EXPECT_EQ(bound(0x1p17 + 1), dot_bound(0, 0, 0x1p17 + 1, 64.0, kDotQ26));
  surveys.items.values.rounding = {1, 9};
  EXPECT_EQ(bound(2.0), dot_bound(0, 9, 2.0, 64.0, kDotQ26));
  EXPECT_EQ(make_plan(config, surveys).arithmetic, kDotQ26);
  expect_error(ExitCode::kDataError, {"dot products", "float32"}, [&] { bound(1e38); });
}

TEST(Plan, DimensionsMustAgreeUnlessPadded) {
  Surveys surveys{even_survey(3, 5, 2), even_survey(3, 7, 2)};
  JobConfig config;
  config.items = "items.csr";
  config.queries = "queries.csr";

  expect_error(ExitCode::kDataError, {"5 columns", "7", "queries.csr", "--pad-dims"},
               [&] { make_plan(config, surveys); });
  config.dimensions = Dimensions::kPad;
  EXPECT_EQ(make_plan(config, surveys).columns, 7);
}

TEST(Plan, ZeroRowsCanBeRefused) {
  auto surveys = even_surveys(3, 3);
  surveys.items.counts.zero_rows = 2;
  JobConfig config;
  config.zero_rows = ZeroRows::kError;
  config.items = "items.csr";

  expect_error(ExitCode::kDataError, {"items.csr", "2 empty rows", "--zero-rows"},
               [&] { make_plan(config, surveys); });
}

TEST(Plan, AMatrixTooLargeForAnyFileSystemIsRefusedWithoutOverflow) {
  Surveys surveys;
  surveys.queries.rows = std::int64_t{1} << 33;
  surveys.items.rows = std::int64_t{1} << 33;
  expect_error(ExitCode::kIoError, {"8589934592 x 8589934592"}, [&] { make_plan({}, surveys); });
}

TEST(Plan, OffsetsPastTwoToThe31StayExact) {
  const auto plan = make_plan({}, even_surveys(65'536, 32'769));
  const TileId last{plan.grid.rows() - 1, plan.grid.columns() - 1};

  EXPECT_EQ(plan.grid.id(plan.grid.count() - 1), last);
  EXPECT_EQ(plan.grid.number(last), plan.grid.count() - 1);
  EXPECT_GT(plan.grid.count() * plan.grid.tile().cells(), std::int64_t{1} << 31);
  EXPECT_EQ(plan.grid.queries(last.row).end, 65'536);
  EXPECT_EQ(plan.grid.items(last.column).end, 32'769);
}

class ShareTiles : public testing::TestWithParam<int> {};

TEST_P(ShareTiles, EveryTileHasOneRankAndCostsAreBalanced) {
  const int ranks = GetParam();
  const auto surveys = even_surveys(5'000, 100'000);
  const auto plan = make_plan({}, surveys);
  std::vector<std::int64_t> to_do(static_cast<std::size_t>(plan.grid.count()));
  std::iota(to_do.begin(), to_do.end(), std::int64_t{0});

  const auto shares = share_tiles(to_do, plan, surveys.items, ranks);

  std::vector<std::int64_t> all;
  for (const auto& share : shares) {
    EXPECT_NEAR(static_cast<double>(share.size()), static_cast<double>(to_do.size()) / ranks, 2.0);
    all.insert(all.end(), share.begin(), share.end());
  }
  EXPECT_EQ(shares.size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(all, to_do);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShareTiles, testing::Values(1, 2, 3, 8, 64, 300));

TEST(Chunks, HoldWholeColumnsOfTilesOfOneBatch) {
  const TileGrid grid({10, 100}, {4, 10});
  const std::vector<std::int64_t> tiles{0, 1, 2, 4, 5, 12, 13, 14};  // columns 0, 1 and 4

  const auto chunks = make_chunks(tiles, grid, {0, 2}, 2);

  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0].items, (RowRange{0, 20}));
  EXPECT_EQ(chunks[0].tiles, (std::vector<TileId>{{0, 0}, {1, 0}, {1, 1}}));
  EXPECT_EQ(chunks[1].items, (RowRange{40, 50}));
  EXPECT_EQ(chunks[1].tiles, (std::vector<TileId>{{0, 4}, {1, 4}}));
  EXPECT_EQ(chunks[0].tiles_to_come, 2);
  EXPECT_EQ(chunks[1].tiles_to_come, 0);
}

TEST(Schedule, TooLittleMemoryIsRefusedWithTheTable) {
  const auto surveys = even_surveys(50'000, 2'000'000, 40);
  const auto plan = make_plan({}, surveys);

  expect_error(ExitCode::kMemory, {"queries", "item chunks", "backend", "--memory"}, [&] {
    make_schedule({}, plan, surveys, {.threads = 2, .cores = 2, .memory = 1 << 20, .held = 0});
  });
}

TEST(Schedule, OnTheCpuChunksAreShortAndEachThreadHasTwo) {
  const auto surveys = even_surveys(5'000, 2'000'000, 40);
  const auto plan = make_plan({}, surveys);
  RankResources resources{.threads = 4, .cores = 4, .memory = std::int64_t{8} << 30, .held = 0};

  const auto schedule = make_schedule({}, plan, surveys, resources);
  EXPECT_EQ(schedule.chunk_columns, 1);
  EXPECT_EQ(schedule.chunks_in_flight, 8);
  EXPECT_EQ(schedule.columns_at_work(), 4);

  JobConfig config;
  config.chunk_rows = 10'000;
  const auto asked_for = make_schedule(config, plan, surveys, resources);
  EXPECT_EQ(asked_for.chunk_columns * plan.grid.tile().items, 12'288);
  EXPECT_EQ(asked_for.chunks_in_flight, 2);

  resources.memory = schedule.memory_peak() - 1;
  const auto tight = make_schedule({}, plan, surveys, resources);
  EXPECT_EQ(tight.chunks_in_flight, 4);
  EXPECT_EQ(tight.query_batch_rows, plan.grid.rows());
}

TEST(Schedule, AChunkOfNarrowTilesHasSeveralColumns) {
  JobConfig config;
  config.tile = TileShape{64, 100};
  const auto surveys = even_surveys(5'000, 1'000'000, 40);
  const auto plan = make_plan(config, surveys);

  const auto schedule = make_schedule(config, plan, surveys,
                                      {.threads = 2, .cores = 2, .memory = std::int64_t{8} << 30});

  const std::int64_t width = plan.grid.tile().items;
  EXPECT_LT(width, kRowBlockRows);
  EXPECT_EQ(schedule.chunk_columns, divide_up(kRowBlockRows, width));
}

TEST(Schedule, QueriesThatDoNotFitAreBatched) {
  const auto surveys = even_surveys(500'000, 2'000'000, 40);
  const auto plan = make_plan({}, surveys);

  const auto wide = make_schedule(
      {}, plan, surveys, {.threads = 2, .cores = 2, .memory = std::int64_t{8} << 30, .held = 0});
  const auto narrow = make_schedule(
      {}, plan, surveys, {.threads = 2, .cores = 2, .memory = std::int64_t{200} << 20, .held = 0});

  EXPECT_EQ(wide.query_batch_rows, plan.grid.rows());
  EXPECT_LT(narrow.query_batch_rows, plan.grid.rows());
  EXPECT_LE(narrow.memory_peak(), std::int64_t{200} << 20);
}

/// A rank with a device that has 50 MB of L2 cache and copies 50 GB/s to the host.
RankResources with_device(std::int64_t free_bytes) {
  RankResources resources{.threads = 4, .cores = 4, .memory = std::int64_t{64} << 30, .held = 0};
  resources.device = CudaDevice{.node_rank = 0,
                                .description = "a device",
                                .uuid = "GPU-1",
                                .free_bytes = free_bytes,
                                .l2_bytes = 50'000'000,
                                .download_rate = 50e9};
  return resources;
}

TEST(Schedule, OnADeviceQueriesFillHalfOfItsCacheAndTilesAreCopiedInATenthOfASecond) {
  const auto surveys = even_surveys(500'000, 2'000'000, 40);
  const auto plan = make_plan({}, surveys);

  const auto schedule = make_schedule({}, plan, surveys, with_device(std::int64_t{100} << 30));

  const std::int64_t queries = schedule.query_batch_rows * 1024;
  EXPECT_LE(8 * 40 * queries, 25'000'000);
  EXPECT_GT(2 * 8 * 40 * queries, 20'000'000);
  EXPECT_EQ(schedule.query_limit, "half of the L2 cache of the device");
  EXPECT_LE(4 * queries * 4096 * schedule.chunk_columns, 5'000'000'000);
  EXPECT_GT(4 * queries * 4096 * (schedule.chunk_columns + 1), 5'000'000'000);
  EXPECT_EQ(schedule.chunk_limit, "0.1 s of copies from the device");
}

TEST(Schedule, OnlyPairsAreCopiedSoTheirChunksAreAsLongAsASlice) {
  JobConfig config;
  config.filter = PairFilterSpec{.at_least = 0.5F};
  const auto surveys = even_surveys(50'000, 2'000'000, 40);
  const auto plan = make_plan(config, surveys);

  const auto schedule = make_schedule(config, plan, surveys, with_device(std::int64_t{100} << 30));

  EXPECT_EQ(schedule.chunk_columns * 4096, 262'144);
}

TEST(Schedule, ADeviceWithLittleMemoryHalvesTheChunkDownToAColumnOfTiles) {
  const auto surveys = even_surveys(5'000, 2'000'000, 40);
  const auto plan = make_plan({}, surveys);

  const auto schedule = make_schedule({}, plan, surveys, with_device(200'000'000));

  EXPECT_EQ(schedule.chunk_limit, "the memory of the device");
  EXPECT_GE(schedule.chunk_columns, 1);
  expect_error(ExitCode::kMemory, {"a device has 10.0 MB free", "item blocks", "tiles", "--tile"},
               [&] { make_schedule({}, plan, surveys, with_device(10'000'000)); });
}

}  // namespace
}  // namespace bulksim::test
