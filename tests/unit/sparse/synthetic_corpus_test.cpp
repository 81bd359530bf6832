#include "sparse/synthetic_corpus.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::entries_of;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

CsrMatrix rows_of(const SyntheticCorpus& corpus, CorpusSide side, RowRange range) {
  CsrMatrix rows;
  corpus.generate(side, range, rows);
  return rows;
}

/// Share of the rows that have each column.
std::vector<double> column_shares(const CsrMatrix& matrix) {
  std::vector<double> shares(static_cast<std::size_t>(matrix.columns));
  for (const Column column : matrix.col_indices) {
    shares[column] += 1.0 / static_cast<double>(matrix.rows());
  }
  return shares;
}

double nonzeros_a_row(const CsrMatrix& matrix) {
  return static_cast<double>(matrix.nnz()) / static_cast<double>(matrix.rows());
}

/// Documented properties of a preset, and the digest of its first rows.
struct Promise {
  std::string name;
  std::int64_t columns;
  double query_nonzeros;
  double item_nonzeros;
  double multiply_adds;  ///< useful multiply-adds per pair
  double tolerance;      ///< of multiply_adds
  std::string digest;
};

class Preset : public testing::TestWithParam<Promise> {
 protected:
  SyntheticCorpus corpus_ = {find_corpus_preset(GetParam().name), 1};
};

TEST_P(Preset, HasThePromisedShape) {
  const Promise& promise = GetParam();
  const CsrMatrix queries = rows_of(corpus_, CorpusSide::kQueries, {0, 1024});
  const CsrMatrix items = rows_of(corpus_, CorpusSide::kItems, {0, 10000});

  const auto query_shares = column_shares(queries);
  const auto item_shares = column_shares(items);
  double multiply_adds = 0.0;
  for (std::size_t column = 0; column < query_shares.size(); ++column) {
    multiply_adds += query_shares[column] * item_shares[column];
  }

  EXPECT_EQ(queries.columns, promise.columns);
  EXPECT_EQ(items.columns, promise.columns);
  EXPECT_NEAR(nonzeros_a_row(queries), promise.query_nonzeros, 0.03 * promise.query_nonzeros);
  EXPECT_NEAR(nonzeros_a_row(items), promise.item_nonzeros, 0.03 * promise.item_nonzeros);
  EXPECT_NEAR(multiply_adds, promise.multiply_adds, promise.tolerance);
}

TEST_P(Preset, HasTheSameBytesOnEveryMachine) {
  Hasher hasher;
  for (const CorpusSide side : {CorpusSide::kQueries, CorpusSide::kItems}) {
    const CsrMatrix rows = rows_of(corpus_, side, {0, 200});
    hasher.update(bytes_of(rows.row_offsets));
    hasher.update(bytes_of(rows.col_indices));
    hasher.update(bytes_of(rows.values));
  }

  EXPECT_EQ(hasher.digest().hex(), GetParam().digest);
}

TEST_P(Preset, RowsAreCanonicalPositiveAndFloat32) {
  CsrMatrix rows = rows_of(corpus_, CorpusSide::kItems, {0, 500});
  const auto before = entries_of(rows);

  const CanonicalizationCounts counts = canonicalize(rows, Irregular::kAccept, "corpus", 0);

  EXPECT_EQ(counts, CanonicalizationCounts{});
  EXPECT_EQ(entries_of(rows), before);
  EXPECT_LT(*std::ranges::max_element(rows.col_indices), rows.columns);
  for (const double value : rows.values) {
    ASSERT_GT(value, 0.0);
    ASSERT_EQ(value, static_cast<double>(static_cast<float>(value)));
  }
}

TEST_P(Preset, AnyRangeOfRowsEqualsThatPartOfTheWhole) {
  const auto whole = entries_of(rows_of(corpus_, CorpusSide::kItems, {0, 100}));

  for (const RowRange range : {RowRange{0, 1}, {37, 38}, {50, 100}, {99, 100}, {10, 10}}) {
    const auto part = entries_of(rows_of(corpus_, CorpusSide::kItems, range));

    EXPECT_EQ(part, std::vector(whole.begin() + range.begin, whole.begin() + range.end))
        << range.begin;
  }
}

TEST_P(Preset, RowLengthsAreKnownBeforeTheRows) {
  for (const CorpusSide side : {CorpusSide::kQueries, CorpusSide::kItems}) {
    const auto offsets = corpus_.row_offsets(side, 300);

    EXPECT_EQ(offsets, rows_of(corpus_, side, {0, 300}).row_offsets);
    EXPECT_TRUE(std::ranges::is_sorted(offsets, std::less_equal<>()));  // no row is empty
  }
}

TEST_P(Preset, SidesAndSeedsAreIndependent) {
  const auto items = entries_of(rows_of(corpus_, CorpusSide::kItems, {0, 50}));
  const auto queries = entries_of(rows_of(corpus_, CorpusSide::kQueries, {0, 50}));
  const auto others =
      entries_of(rows_of(SyntheticCorpus(corpus_.preset(), 2), CorpusSide::kItems, {0, 50}));

  for (std::size_t row = 0; row < items.size(); ++row) {
    EXPECT_NE(items[row], queries[row]) << row;
    EXPECT_NE(items[row], others[row]) << row;
  }
}

TEST_P(Preset, ColumnsAreNotOrderedByFrequency) {
  const auto shares = column_shares(rows_of(corpus_, CorpusSide::kItems, {0, 2000}));

  double weight = 0.0;
  double place = 0.0;
  for (std::size_t column = 0; column < shares.size(); ++column) {
    weight += shares[column] * shares[column];
    place += shares[column] * shares[column] * static_cast<double>(column);
  }
  const double mean_place = place / weight / static_cast<double>(shares.size());

  EXPECT_GT(mean_place, 0.2);
  EXPECT_LT(mean_place, 0.8);
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, Preset,
    testing::Values(
        Promise{"titles", 1'000'000, 13, 16, 0.39, 0.05, "a5676060a56bdb4c0c543764c123d066"},
        Promise{"titles43", 1'200'000, 43, 38, 0.70, 0.07, "b851517379ff427ee5598cfb620e2873"},
        Promise{"trigrams", 100'000, 46, 50, 3.5, 0.3, "4fb8454362ea84d1b1912c07e20eb8ae"},
        Promise{"splade", 30'522, 43, 120, 3.8, 0.4, "92add74fc1a38b1806b4174d3f3cbb67"}),
    [](const auto& preset) { return preset.param.name; });

TEST(CorpusPresets, AnUnknownNameIsAnErrorWithTheKnownNames) {
  const std::string error = error_of([] { find_corpus_preset("title"); });

  EXPECT_THAT(error, AllOf(StartsWith("64: "), HasSubstr("'title'"), HasSubstr("titles43"),
                           HasSubstr("splade")));
}

TEST(CorpusPresets, TheValueOfAColumnIsItsRarityTimesHowOftenItWasDrawn) {
  // two columns, drawn until both have occurred: at least one of them exactly once
  const CorpusPreset tiny{"tiny", 16, 1.0, {2, 0.0}, {2, 0.0}};
  const SyntheticCorpus corpus(tiny, 1);
  const auto rows = entries_of(rows_of(corpus, CorpusSide::kItems, {0, 400}));
  const double span = std::log(17.0);

  std::size_t matches = 0;
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      bool found = false;
      for (int rank = 0; rank < 16; ++rank) {
        for (int times = 1; times < 40; ++times) {
          const double idf = 1.0 + std::log(1.0 + (rank + 1.5) * span / 2.0);
          found |= std::fabs(value - idf * (1.0 + std::log(times))) < 1e-6 * value;
        }
      }
      matches += found;
    }
  }

  EXPECT_EQ(matches, 800U);
}

}  // namespace
}  // namespace bulksim
