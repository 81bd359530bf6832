// Tests of the block sums of whole runs.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "blocks/fine_grid.hpp"
#include "support/block_sums_support.hpp"

namespace bulksim::test {
namespace {

double cosine(const CsrMatrix& queries, std::int64_t q, const CsrMatrix& items, std::int64_t i) {
  const auto q_columns = queries.view().columns_of(q);
  const auto q_values = queries.view().values_of(q);
  const auto i_columns = items.view().columns_of(i);
  const auto i_values = items.view().values_of(i);
  double sum = 0.0;
  double q_square = 0.0;
  double i_square = 0.0;
  for (const double value : q_values)
    q_square += value * value;
  for (const double value : i_values)
    i_square += value * value;
  for (std::size_t a = 0, b = 0; a < q_columns.size() && b < i_columns.size();) {
    if (q_columns[a] == i_columns[b]) {
      sum += q_values[a++] * i_values[b++];
    } else {
      q_columns[a] < i_columns[b] ? ++a : ++b;
    }
  }
  return sum == 0.0 ? 0.0 : sum / std::sqrt(q_square * i_square);
}

/// The definition in float64: the softmax of each query row that is not empty, summed over blocks.
std::vector<double> softmax_sums(const CsrMatrix& queries, const CsrMatrix& items,
                                 const FineGrid& blocks, double scale) {
  std::vector<double> sums(static_cast<std::size_t>(blocks.rows() * blocks.columns()));
  std::vector<double> row(static_cast<std::size_t>(items.rows()));
  for (std::int64_t a = 0; a < blocks.rows(); ++a) {
    for (std::int64_t q = blocks.queries(a).begin; q < blocks.queries(a).end; ++q) {
      if (queries.view().columns_of(q).empty()) continue;
      double total = 0.0;
      for (std::int64_t i = 0; i < items.rows(); ++i) {
        row[static_cast<std::size_t>(i)] = std::exp(scale * (cosine(queries, q, items, i) - 1.0));
        total += row[static_cast<std::size_t>(i)];
      }
      for (std::int64_t b = 0; b < blocks.columns(); ++b) {
        for (std::int64_t i = blocks.items(b).begin; i < blocks.items(b).end; ++i) {
          sums[static_cast<std::size_t>(a * blocks.columns() + b)] +=
              row[static_cast<std::size_t>(i)] / total;
        }
      }
    }
  }
  return sums;
}

/// Relative error 1e-5 where a block has at least 1e-6 of the mass of its rows; elsewhere an
/// absolute error of 1e-11 per row.
void expect_softmax(const BlockMap& map, const std::vector<double>& expected) {
  ASSERT_EQ(map.fine.size(), expected.size());
  for (std::size_t at = 0; at < expected.size(); ++at) {
    const auto rows =
        static_cast<double>(map.live_rows[at / static_cast<std::size_t>(map.columns)]);
    const double bound = expected[at] >= 1e-6 * rows ? 1e-5 * expected[at] : 1e-11 * rows;
    EXPECT_NEAR(map.fine[at], expected[at], bound) << "block " << at;
  }
}

/// The mass of a row of blocks is one per query row that is not empty.
void expect_whole_rows(const BlockMap& map) {
  for (std::int64_t row = 0; row < map.rows; ++row) {
    double sum = 0.0;
    double share = 0.0;
    for (std::int64_t column = 0; column < map.columns; ++column) {
      sum += map.fine[static_cast<std::size_t>(row * map.columns + column)];
      share += map.share[static_cast<std::size_t>(row * map.columns + column)];
    }
    const auto live = static_cast<double>(map.live_rows[static_cast<std::size_t>(row)]);
    EXPECT_NEAR(sum, live, 1e-9 * live);
    EXPECT_NEAR(share, live > 0 ? 1.0 : 0.0, 1e-9);
  }
}

/// Coarse blocks are sums of fine blocks, added row by row, bit for bit.
void expect_coarse(const BlockMap& map) {
  for (std::int64_t row = 0; row < map.coarse_rows; ++row) {
    for (std::int64_t column = 0; column < map.coarse_columns; ++column) {
      double sum = 0.0;
      for (std::int64_t a = 4 * row; a < std::min(4 * row + 4, map.rows); ++a) {
        for (std::int64_t b = 4 * column; b < std::min(4 * column + 4, map.columns); ++b)
          sum += map.fine[static_cast<std::size_t>(a * map.columns + b)];
      }
      EXPECT_EQ(map.coarse[static_cast<std::size_t>(row * map.coarse_columns + column)], sum);
    }
  }
}

TEST(BlockSumsOfARun, AreThoseOfAFloat64SoftmaxAtAnyScale) {
  for (const std::string corpus : {"titles", "trigrams"}) {
    const CsrMatrix queries = load(corpus + "_queries");
    const CsrMatrix items = load(corpus + "_items");
    for (const double scale : {1.0, 20.0, 100.0}) {
      SCOPED_TRACE(corpus + " at scale " + std::to_string(scale));
      BlockSumsJob job(queries, items);
      job.config.mode = Mode::kBlocks;
      job.config.softmax_scale = scale;

      const auto map = job.run();

      ASSERT_TRUE(map);
      const FineGrid grid(TileGrid({queries.rows(), items.rows()}, *job.config.tile));
      expect_softmax(*map, softmax_sums(queries, items, grid, scale));
      expect_whole_rows(*map);
      expect_coarse(*map);
      EXPECT_GT(map->coarse_rows, 1);
      EXPECT_GT(map->coarse_columns, 1);
    }
  }
}

TEST(BlockSumsOfARun, AcceptOddShapesAndEmptyRows) {
  const struct {
    std::int64_t queries;
    std::int64_t items;
    TileShape tile;
  } cases[] = {{1, 1, {1, 1}},           {1, 700, {1, 256}},     {70, 5, {64, 512}},
               {65, 1'025, {64, 1'024}}, {8, 2'100, {4, 2'048}}, {1'100, 40, {1'100, 40}}};
  for (const auto& [queries, items, tile] : cases) {
    SCOPED_TRACE(std::to_string(queries) + " x " + std::to_string(items));
    const CsrMatrix q = random_rows(queries, 80, 6, 1);
    const CsrMatrix i = random_rows(items, 80, 6, 2);
    BlockSumsJob job(q, i);
    job.config.tile = tile;
    job.config.zero_rows = ZeroRows::kNan;  // NaN in the matrix, cosine 0 in the sums

    const auto map = job.run();

    ASSERT_TRUE(map);
    expect_softmax(*map, softmax_sums(q, i, FineGrid(TileGrid({queries, items}, tile)), 20.0));
    expect_whole_rows(*map);
  }
}

TEST(BlockSumsOfARun, IgnoreEmptyQueries) {
  BlockSumsJob job(matrix_of(5, {{}, {}}), matrix_of(5, {{{0, 1.0}}, {}}));

  const auto map = job.run();

  ASSERT_TRUE(map);
  EXPECT_EQ(map->fine, std::vector<double>{0.0});
  EXPECT_EQ(map->live_rows, std::vector<std::int64_t>{0});
}

/// Rows of 12 entries in uniformly drawn columns.
std::vector<Entries> uniform_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Random random(seed);
  std::vector<Entries> lists(static_cast<std::size_t>(rows));
  for (Entries& row : lists) {
    for (int entry = 0; entry < 12; ++entry) {
      row.emplace_back(static_cast<Column>(random.below(columns)), 0.5 + random.unit());
    }
  }
  return lists;
}

TEST(BlockSumsOfARun, ShowANearDuplicateAmongAHundredThousandItems) {
  constexpr std::int64_t kItems = 100'000;
  constexpr std::int64_t kPlace = 77'777;
  for (const std::int64_t queries : {1, 64}) {
    SCOPED_TRACE(std::to_string(queries) + " queries");
    auto rows = uniform_rows(kItems, 20'000, 3);
    auto asked = uniform_rows(queries, 20'000, 4);
    rows[kPlace] = asked.back();
    rows[kPlace][0].second *= 1.1;
    CsrMatrix items = matrix_of(20'000, rows);
    CsrMatrix all_queries = matrix_of(20'000, asked);
    canonicalize(items, Irregular::kAccept, "items", 0);
    canonicalize(all_queries, Irregular::kAccept, "queries", 0);
    BlockSumsJob job(all_queries, items);
    job.config.mode = Mode::kBlocks;
    job.config.tile = TileShape{64, 4'096};

    const auto map = job.run();

    ASSERT_TRUE(map);
    const auto best = std::max_element(map->fine.begin(), map->fine.end());
    EXPECT_EQ(best - map->fine.begin(), kPlace / kFineRows);
  }
}

}  // namespace
}  // namespace bulksim::test
