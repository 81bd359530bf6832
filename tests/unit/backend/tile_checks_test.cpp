#include "backend/rows/tile_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "backend/rows/labelled_rows.hpp"
#include "sparse/vocabulary.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

struct Rows {
  QuantizedRows queries = test::quantized_rows(test::random_rows(30, 40, 6, 1));
  QuantizedRows items = test::quantized_rows(test::random_rows(50, 40, 8, 2));
  Vocabulary vocabulary{queries};
  LabelledRows labelled_queries;
  LabelledRows labelled_items;

  Rows() {
    labelled_queries.assign(queries, {0, queries.rows()}, vocabulary);
    labelled_items.assign(items, {0, items.rows()}, vocabulary);
  }
  /// Sum of A(q,i) over some queries, per item.
  std::vector<std::int64_t> column_sums(RowRange rows) const {
    std::vector<std::int64_t> sums;
    for (std::int64_t item = 0; item < items.rows(); ++item) {
      std::int64_t sum = 0;
      for (std::int64_t query = rows.begin; query < rows.end; ++query) {
        sum += exact_sum(queries, query, items, item);
      }
      sums.push_back(sum);
    }
    return sums;
  }
};

TEST(ColumnIdentity, HoldsForTheSumsOfAnyRowsOfQueries) {
  const Rows rows;
  ColumnIdentity identity;

  for (const RowRange range : {RowRange{0, 30}, RowRange{7, 12}, RowRange{3, 3}}) {
    identity.expect(rows.labelled_queries, range, rows.vocabulary.size());
    const auto sums = rows.column_sums(range);

    EXPECT_EQ(identity.failures(rows.labelled_items, {0, 50}, sums.data()), 0);
    EXPECT_EQ(identity.failures(rows.labelled_items, {20, 31}, sums.data() + 20), 0);
  }
}

TEST(ColumnIdentity, FindsEachItemWhoseSumIsOffByOne) {
  const Rows rows;
  ColumnIdentity identity;
  auto sums = rows.column_sums({0, 30});
  ++sums[4];
  --sums[49];

  identity.expect(rows.labelled_queries, {0, 30}, rows.vocabulary.size());

  EXPECT_EQ(identity.failures(rows.labelled_items, {0, 50}, sums.data()), 2);
}

TEST(SampledCells, AreInTheTileInTheOrderOfTheirRows) {
  for (const std::int64_t tile : {0, 1, 99}) {
    const auto cells = sampled_cells(tile, 10, 3000);

    EXPECT_TRUE(std::ranges::is_sorted(cells));
    for (const Cell& cell : cells) {
      EXPECT_TRUE(0 <= cell.row && cell.row < 10 && 0 <= cell.item && cell.item < 3000);
    }
  }
}

TEST(SampledCells, DependOnTheTileAlone) {
  const auto cells = sampled_cells(5, 1024, 4096);

  EXPECT_EQ(cells, sampled_cells(5, 1024, 4096));
  EXPECT_NE(cells, sampled_cells(6, 1024, 4096));
}

TEST(SampledCells, SpreadOverTheTile) {
  const auto cells = sampled_cells(7, 1024, 4096);

  const auto upper = std::ranges::count_if(cells, [](const Cell& cell) { return cell.row < 512; });
  const auto left = std::ranges::count_if(cells, [](const Cell& cell) { return cell.item < 2048; });

  EXPECT_TRUE(16 <= upper && upper <= 48) << upper;
  EXPECT_TRUE(16 <= left && left <= 48) << left;
}

TEST(SampleCheck, DistinguishesValuesThatDifferInTheLastBit) {
  const Rows rows;
  const float right = exact_score(rows.queries, 3, rows.items, 5);

  EXPECT_TRUE(is_score_of(right, rows.queries, 3, rows.items, 5));
  EXPECT_FALSE(is_score_of(std::nextafter(right, 2.0f), rows.queries, 3, rows.items, 5));
}

TEST(SampleCheck, DistinguishesMinusZeroFromZero) {
  const QuantizedRows queries = test::quantized_rows(test::matrix_of(2, {{{0, 1.0}}}));
  const QuantizedRows items = test::quantized_rows(test::matrix_of(2, {{{1, 1.0}}}));

  EXPECT_TRUE(is_score_of(0.0f, queries, 0, items, 0));
  EXPECT_FALSE(is_score_of(-0.0f, queries, 0, items, 0));
}

}  // namespace
}  // namespace bulksim
