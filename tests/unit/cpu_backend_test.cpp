#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "test_support.hpp"

namespace bulksim {
namespace {

/// Keeps finished tiles, and counts what breaks the order of begin, write .. write, finish.
class Collector final : public TileSink {
 public:
  explicit Collector(TileShape shape) : shape_(shape) {}

  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::map<TileId, std::vector<float>> tiles;
  std::map<TileId, std::vector<BlockTerm>> terms;
  std::int64_t disorder = 0;
  std::int64_t begun = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(Collector& sink) : sink_(sink) {}

    void begin(TileId tile) override {
      const std::lock_guard lock(sink_.mutex_);
      ++sink_.begun;
      tile_ = tile;
      values_.clear();
      terms_.clear();
    }
    void write(const TileStripe& stripe) override {
      const std::lock_guard lock(sink_.mutex_);
      const auto rows = static_cast<std::int64_t>(values_.size()) / sink_.shape_.items;
      const auto size = static_cast<std::int64_t>(stripe.values.size());
      sink_.disorder += stripe.tile != tile_ || stripe.first_row != rows ||
                        size != stripe.rows * sink_.shape_.items;
      values_.insert(values_.end(), stripe.values.begin(), stripe.values.end());
      terms_.insert(terms_.end(), stripe.terms.begin(), stripe.terms.end());
    }
    void finish() override {
      const std::lock_guard lock(sink_.mutex_);
      sink_.disorder += !sink_.tiles.emplace(tile_, values_).second;
      sink_.terms[tile_] = terms_;
    }

   private:
    Collector& sink_;
    TileId tile_;
    std::vector<float> values_;
    std::vector<BlockTerm> terms_;
  };

  TileShape shape_;
  std::mutex mutex_;
};

/// A sink whose tiles cannot be written.
class FullDisk final : public TileSink {
 public:
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::atomic<int> open_writers = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(FullDisk& sink) : sink_(sink) { ++sink_.open_writers; }
    ~Writer() override { --sink_.open_writers; }

    void begin(TileId) override {}
    void write(const TileStripe&) override { throw Error(ExitCode::kIoError, "the disk is full"); }
    void finish() override {}

   private:
    FullDisk& sink_;
  };
};

struct Case {
  std::string name;
  MatrixShape shape;
  TileShape tile;
  int threads = 1;
  Grid arithmetic = kFineGrid;
};

struct Problem {
  Case what;
  TileGrid grid;
  QueryBatch queries;
  UnitRows items;

  explicit Problem(const Case& c) : what(c), grid(c.shape, c.tile) {
    queries.range = {0, c.shape.queries};
    queries.rows = test::unit_rows(test::random_rows(c.shape.queries, 200, 12, 1), c.arithmetic);
    items = test::unit_rows(test::random_rows(c.shape.items, 200, 15, 2), c.arithmetic);
  }
  CpuBackendOptions options() const {
    CpuBackendOptions options;
    options.grid = grid;
    options.arithmetic = what.arithmetic;
    options.threads = what.threads;
    return options;
  }
  /// The items of some columns of tiles, with all their tiles.
  ItemChunk chunk(RowRange columns) const {
    ItemChunk chunk;
    chunk.range = {grid.items(columns.begin).begin, grid.items(columns.end - 1).end};
    chunk.rows.columns = items.columns;
    for (std::int64_t item = chunk.range.begin; item < chunk.range.end; ++item) {
      const auto from = items.columns_of(item);
      const auto values = items.values_of(item);
      chunk.rows.col_indices.insert(chunk.rows.col_indices.end(), from.begin(), from.end());
      chunk.rows.values.insert(chunk.rows.values.end(), values.begin(), values.end());
      chunk.rows.row_offsets.push_back(static_cast<std::int64_t>(chunk.rows.values.size()));
    }
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      for (std::int64_t row = 0; row < grid.rows(); ++row)
        chunk.tiles.push_back({row, column});
    }
    return chunk;
  }
  /// Hands over every tile, two columns at a time.
  void run(SimilarityBackend& backend, TileSink& sink) const {
    backend.set_queries(queries, sink);
    for (std::int64_t column = 0; column < grid.columns(); column += 2) {
      backend.submit(chunk({column, std::min(column + 2, grid.columns())}));
    }
    backend.drain();
  }
};

/// Cells with other bits than the merge gives, or than +0.0 past the edge.
std::int64_t wrong_cells(const Problem& problem, const Collector& sink) {
  const TileGrid& grid = problem.grid;
  std::int64_t wrong = 0;
  for (const auto& [tile, values] : sink.tiles) {
    for (std::int64_t cell = 0; cell < grid.tile().cells(); ++cell) {
      const std::int64_t q = tile.row * grid.tile().queries + cell / grid.tile().items;
      const std::int64_t i = tile.column * grid.tile().items + cell % grid.tile().items;
      const bool exists = q < grid.shape().queries && i < grid.shape().items;
      const std::int64_t sum = exists ? exact_sum(problem.queries.rows, q, problem.items, i) : 0;
      const float expected = to_cosine(sum, inverse_one(problem.what.arithmetic));
      wrong += std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(cell)]) !=
               std::bit_cast<std::uint32_t>(expected);
    }
  }
  return wrong;
}

/// Terms that are not those of the cosines of their row and fine block.
std::int64_t wrong_terms(const Problem& problem, const Collector& sink, double softmax_scale) {
  const TileGrid& grid = problem.grid;
  const std::int64_t blocks = divide_up(grid.tile().items, kFineRows);
  std::int64_t wrong = 0;
  for (const auto& [tile, terms] : sink.terms) {
    wrong += std::ssize(terms) != grid.tile().queries * blocks;
    const RowRange queries = grid.queries(tile.row);
    const std::int64_t items = grid.items(tile.column).size();
    for (std::int64_t place = 0; place < std::ssize(terms); ++place) {
      const std::int64_t row = place / blocks;
      const std::int64_t begin = place % blocks * kFineRows;
      const std::int64_t end = std::min(begin + kFineRows, items);
      BlockTerm expected;
      if (row < queries.size() && begin < end &&
          !problem.queries.rows.columns_of(queries.begin + row).empty()) {
        expected =
            block_term(std::span(sink.tiles.at(tile))
                           .subspan(static_cast<std::size_t>(row * grid.tile().items + begin),
                                    static_cast<std::size_t>(end - begin)),
                       0, exp_scale(softmax_scale), inverse_one(problem.what.arithmetic));
      }
      wrong += terms[static_cast<std::size_t>(place)] != expected;
    }
  }
  return wrong;
}

class CpuBackend : public testing::TestWithParam<Case> {};

TEST_P(CpuBackend, FinishesEveryTileOnceWithTheBitsOfAMerge) {
  const Problem problem(GetParam());
  Collector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(problem.options());

  problem.run(*backend, sink);

  EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), problem.grid.count());
  EXPECT_EQ(sink.disorder, 0);
  EXPECT_EQ(wrong_cells(problem, sink), 0);
  EXPECT_EQ(backend->recomputed_tiles(), 0);
}

TEST_P(CpuBackend, LeavesTheTermsOfTheCosinesItWrites) {
  const Problem problem(GetParam());
  Collector sink(problem.grid.tile());
  CpuBackendOptions options = problem.options();
  options.sub_block = 1000;  // rounded up to a whole fine block
  options.content = TileContent::kValuesAndTerms;
  options.softmax_scale = 7.5;
  const auto backend = make_cpu_backend(options);

  problem.run(*backend, sink);

  EXPECT_EQ(static_cast<std::int64_t>(sink.terms.size()), problem.grid.count());
  EXPECT_EQ(wrong_terms(problem, sink, options.softmax_scale), 0);
  EXPECT_EQ(wrong_cells(problem, sink), 0);
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
                                         Case{"WideGrid", {30, 2500}, {16, 1024}, 2, kWideGrid}),
                         [](const auto& instance) { return instance.param.name; });

TEST(CpuBackendQueries, MayHaveNoEntriesAtAll) {
  Problem problem({"", {4, 30}, {4, 16}});
  problem.queries.rows.col_indices.clear();
  problem.queries.rows.values.clear();
  problem.queries.rows.row_offsets.assign(5, 0);
  Collector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(problem.options());

  problem.run(*backend, sink);

  EXPECT_EQ(sink.tiles.size(), 2U);
  EXPECT_EQ(wrong_cells(problem, sink), 0);
}

TEST(CpuBackendQueries, MayBeReplacedByTheNextBatch) {
  const Problem whole({"", {40, 100}, {16, 64}, 2});
  Collector sink(whole.grid.tile());
  const auto backend = make_cpu_backend(whole.options());

  for (std::int64_t row = 0; row < whole.grid.rows(); ++row) {
    QueryBatch batch{whole.grid.queries(row), {}};
    batch.rows.columns = whole.queries.rows.columns;
    for (std::int64_t q = batch.range.begin; q < batch.range.end; ++q) {
      const auto columns = whole.queries.rows.columns_of(q);
      const auto values = whole.queries.rows.values_of(q);
      batch.rows.col_indices.insert(batch.rows.col_indices.end(), columns.begin(), columns.end());
      batch.rows.values.insert(batch.rows.values.end(), values.begin(), values.end());
      batch.rows.row_offsets.push_back(static_cast<std::int64_t>(batch.rows.values.size()));
    }
    ItemChunk chunk = whole.chunk({0, 2});
    std::erase_if(chunk.tiles, [&](const TileId& tile) { return tile.row != row; });
    backend->set_queries(batch, sink);
    backend->submit(std::move(chunk));
    backend->drain();
  }

  EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), whole.grid.count());
  EXPECT_EQ(wrong_cells(whole, sink), 0);
}

TEST(CpuBackendChunks, MayNeedOnlySomeOfTheirTilesOrNone) {
  const Problem problem({"", {40, 100}, {16, 64}, 2});
  Collector sink(problem.grid.tile());
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
  EXPECT_EQ(wrong_cells(problem, sink), 0);
}

TEST(CpuBackendChecks, case_12_compute_a_spoiled_tile_again) {
  const Problem problem({"", {40, 200}, {16, 64}, 2});
  Collector sink(problem.grid.tile());
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
  EXPECT_EQ(wrong_cells(problem, sink), 0);
}

TEST(CpuBackendChecks, StopTheRunWhenATileIsWrongTwice) {
  const Problem problem({"", {40, 200}, {16, 64}, 2});
  Collector sink(problem.grid.tile());
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
