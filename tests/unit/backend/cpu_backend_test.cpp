#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "bulksim/backend/similarity_backend.hpp"
#include "support/backend_support.hpp"

namespace bulksim {
namespace {

using test::FullDisk;
using test::TileCollector;

struct Case {
  std::string name;
  MatrixShape shape;
  TileShape tile;
  int threads = 1;
  FixedPoint arithmetic = kQ26;
};

struct Problem : test::BackendProblem {
  explicit Problem(const Case& c)
      : BackendProblem(c.shape, c.tile, c.arithmetic), threads(c.threads) {}

  CpuBackendOptions options() const {
    CpuBackendOptions options;
    options.grid = grid;
    options.arithmetic = arithmetic;
    options.threads = threads;
    return options;
  }

  int threads;
};

class CpuBackend : public testing::TestWithParam<Case> {};

TEST_P(CpuBackend, FinishesEveryTileOnceWithTheBitsOfAMerge) {
  const Problem problem(GetParam());
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(problem.options());

  problem.run(*backend, sink);

  EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), problem.grid.count());
  EXPECT_EQ(sink.disorder, 0);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
  EXPECT_EQ(backend->recomputed_tiles(), 0);
}

TEST_P(CpuBackend, ReturnsThePartialsOfTheCosinesItWrites) {
  const Problem problem(GetParam());
  TileCollector sink(problem.grid.tile());
  CpuBackendOptions options = problem.options();
  options.sub_block = 1000;  // rounded up to a whole fine block
  options.content = TileContent::kValuesAndPartials;
  options.softmax_scale = 7.5;
  const auto backend = make_cpu_backend(options);

  problem.run(*backend, sink);

  EXPECT_EQ(static_cast<std::int64_t>(sink.partials.size()), problem.grid.count());
  for (const auto& [tile, partials] : sink.partials)
    EXPECT_EQ(problem.wrong_partials(tile, partials, options.softmax_scale), 0);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
  EXPECT_EQ(backend->recomputed_tiles(), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpuBackend,
                         testing::Values(Case{"OneCell", {1, 1}, {1, 1}},
                                         Case{"TilesOfOneItem", {5, 9}, {3, 1}},
                                         Case{"TilesOfSevenItems", {20, 50}, {6, 7}, 3},
                                         Case{"TilesOfAThousandItems", {40, 2500}, {16, 1000}, 2},
                                         Case{"TilesOfSeveralSubBlocks", {10, 5000}, {4, 4096}, 2},
                                         Case{"TilesLargerThanTheMatrix", {3, 5}, {64, 128}, 2},
                                         Case{"TilesOfSeveralStripes", {300, 2100}, {300, 2048}, 2},
                                         Case{"OneQuery", {1, 1500}, {1, 1024}, 4},
                                         Case{"ManyRowsOfTiles", {100, 30}, {3, 16}, 2},
                                         Case{"WideGrid", {30, 2500}, {16, 1024}, 2, kQ30}),
                         [](const auto& instance) { return instance.param.name; });

TEST(CpuBackendRows, WithoutNegativeValuesHaveTheBitsOfAMergeToo) {
  Problem problem({"", {40, 2500}, {16, 1100}, 2});
  const auto positive = [](QuantizedRows rows) {
    for (std::int32_t& value : rows.values)
      value = std::abs(value);
    return rows;
  };
  problem.queries.rows = positive(problem.queries.rows);
  problem.items = positive(problem.items);
  CpuBackendOptions options = problem.options();
  options.content = TileContent::kValuesAndPartials;
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(options);

  problem.run(*backend, sink);

  EXPECT_EQ(problem.wrong_cells(sink), 0);
  for (const auto& [tile, partials] : sink.partials)
    EXPECT_EQ(problem.wrong_partials(tile, partials, options.softmax_scale), 0);
}

TEST(CpuBackendQueries, MayHaveNoEntriesAtAll) {
  Problem problem({"", {4, 30}, {4, 16}});
  QuantizedRows empty = problem.queries.rows;
  empty.col_indices.clear();
  empty.values.clear();
  empty.row_offsets.assign(5, 0);
  empty.scales.assign(4, 0.0);
  problem.queries.rows = empty;
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(problem.options());

  problem.run(*backend, sink);

  EXPECT_EQ(sink.tiles.size(), 2U);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
}

TEST(CpuBackendQueries, MayBeReplacedByTheNextBatch) {
  const Problem whole({"", {40, 100}, {16, 64}, 2});
  TileCollector sink(whole.grid.tile());
  const auto backend = make_cpu_backend(whole.options());

  for (std::int64_t row = 0; row < whole.grid.rows(); ++row) {
    const RowRange range = whole.grid.queries(row);
    const QueryBatch batch{range, test::slice_of(whole.queries.rows, range)};
    ItemChunk chunk = whole.chunk({0, 2});
    std::erase_if(chunk.tiles, [&](const TileId& tile) { return tile.row != row; });
    backend->set_queries(batch, sink);
    backend->submit(std::move(chunk));
    backend->drain();
  }

  EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), whole.grid.count());
  EXPECT_EQ(whole.wrong_cells(sink), 0);
}

TEST(CpuBackendChunks, MayNeedOnlySomeOfTheirTilesOrNone) {
  const Problem problem({"", {40, 100}, {16, 64}, 2});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(problem.options());
  ItemChunk some = problem.chunk({0, 2});
  some.tiles = {{1, 0}, {0, 1}};
  ItemChunk none = problem.chunk({1, 2});
  none.tiles.clear();

  backend->set_queries(problem.queries, sink);
  backend->submit(std::move(some));
  backend->submit(std::move(none));
  backend->drain();

  EXPECT_EQ(sink.tiles.size(), 2U);
  EXPECT_TRUE(sink.tiles.contains({1, 0}) && sink.tiles.contains({0, 1}));
  EXPECT_EQ(problem.wrong_cells(sink), 0);
}

TEST(CpuBackendChecks, RecomputeASpoiledTile) {
  const Problem problem({"", {40, 200}, {16, 64}, 2});
  TileCollector sink(problem.grid.tile());
  std::atomic<int> spoiled = 0;
  CpuBackendOptions options = problem.options();
  options.before_checks = [&](TileId tile, std::span<float> values) {
    if (tile == TileId{1, 2} && spoiled++ == 0) {
      for (float& value : values)
        value += 0.25f;
    }
  };
  const auto backend = make_cpu_backend(options);

  problem.run(*backend, sink);

  EXPECT_EQ(backend->recomputed_tiles(), 1);
  EXPECT_EQ(sink.begun, problem.grid.count() + 1);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
}

TEST(CpuBackendChecks, StopTheRunWhenATileFailsItsChecksTwice) {
  const Problem problem({"", {40, 200}, {16, 64}, 2});
  TileCollector sink(problem.grid.tile());
  CpuBackendOptions options = problem.options();
  options.before_checks = [&](TileId tile, std::span<float> values) {
    if (tile != TileId{1, 2}) return;
    for (float& value : values)
      value = -value;
  };
  const auto backend = make_cpu_backend(options);

  test::expect_error(ExitCode::kSoftware, {"row 1, column 2", "on host '", "cpu"},
                     [&] { problem.run(*backend, sink); });

  EXPECT_FALSE(sink.tiles.contains({1, 2}));
}

TEST(CpuBackendFailures, OfAWriterReachTheOwnerAndStay) {
  const Problem problem({"", {40, 200}, {16, 64}, 2});
  FullDisk sink;
  const auto backend = make_cpu_backend(problem.options());

  test::expect_error(ExitCode::kIoError, {"the disk is full"},
                     [&] { problem.run(*backend, sink); });
  test::expect_error(ExitCode::kIoError, {"the disk is full"}, [&] { backend->drain(); });
}

TEST(CpuBackendFailures, EndEveryThreadBeforeTheyAreThrown) {
  const Problem problem({"", {40, 2000}, {16, 64}, 3});
  FullDisk sink;
  const auto backend = make_cpu_backend(problem.options());

  test::expect_error(ExitCode::kIoError, {"the disk is full"},
                     [&] { problem.run(*backend, sink); });

  EXPECT_EQ(sink.open_writers, 0);
}

TEST(CpuBackendLimits, RefuseASubBlockThatIsTooLong) {
  CpuBackendOptions options = Problem({"", {4, 4}, {4, 4}}).options();
  options.sub_block = 2049;

  test::expect_error(ExitCode::kUsage, {"2049", "1 to 2048"}, [&] { make_cpu_backend(options); });
}

TEST(CpuBackendMemory, CountsThreadsQueriesAndTiles) {
  CpuBackendOptions one;
  one.grid = TileGrid({4096, 100'000}, {1024, 4096});
  CpuBackendOptions two = one;
  two.threads = 2;

  const std::int64_t base = cpu_backend_bytes(one, 100'000, 1'000'000, 70'000);

  EXPECT_GT(base, 8 * 100'000 + (1 << 20));
  EXPECT_GT(cpu_backend_bytes(two, 100'000, 1'000'000, 70'000), base + (1 << 20));
  EXPECT_GT(cpu_backend_bytes(one, 200'000, 1'000'000, 70'000), base + 8 * 100'000);
  EXPECT_GT(cpu_backend_bytes(one, 100'000, 1'000'000, 140'000), base + 8 * 70'000);
}

}  // namespace
}  // namespace bulksim
