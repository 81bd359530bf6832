#include "backend/cpu/cpu_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "sparse/vocabulary.hpp"
#include "support/arithmetic_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::Random;

constexpr double kNeverDense = 2.0;
constexpr double kAlwaysDense = 0.0;
const ExpScale kScale = exp_scale(20.0);

/// Queries and items for a kernel.
struct Matrices {
  QuantizedRows queries;
  QuantizedRows items;
  FixedPoint format = kQ26;
};

std::vector<Simd> simds_of_this_machine() {
  std::vector<Simd> simds;
  for (const Simd simd : {Simd::kAvx512, Simd::kAvx2, Simd::kSse4, Simd::kScalar, Simd::kBest}) {
    try {
      CpuKernel::choose(simd);
      simds.push_back(simd);
    } catch (const Error&) {
      continue;
    }
  }
  return simds;
}

struct Product {
  std::vector<float> scores;              // queries x items
  std::vector<std::int64_t> column_sums;  // by item
  std::vector<SoftmaxPartial>
      partials;  // queries x fine blocks, from sub-blocks that do not split them
  std::int64_t failed_identities = 0;
};

/// Computes the whole matrix, sub-block by sub-block.
Product multiply(const Matrices& matrices, const CpuKernel& kernel, const BlockLayout& layout,
                 std::int32_t spoil = 0) {
  const Vocabulary vocabulary(matrices.queries);
  LabelledRows queries;
  LabelledRows items;
  queries.assign(matrices.queries, {0, matrices.queries.rows()}, vocabulary);
  items.assign(matrices.items, {0, matrices.items.rows()}, vocabulary);
  ItemBlock block;
  KernelScratch scratch;
  scratch.require(layout.items, queries.longest());
  const bool has_partials =
      layout.items % kFineRows == 0 && matrices.format.metric == Metric::kCosine;
  const std::int64_t blocks = has_partials ? divide_up(items.rows(), kFineRows) : 0;
  const BlockFunction run =
      kernel.function(matrices.format, common_signs(queries, items), Identities::kRowsAndColumns,
                      blocks > 0 ? Partials::kOn : Partials::kOff);

  Product product;
  product.scores.assign(static_cast<std::size_t>(queries.rows() * items.rows()),
                        std::numeric_limits<float>::quiet_NaN());
  product.partials.resize(static_cast<std::size_t>(queries.rows() * blocks));
  for (std::int64_t begin = 0; begin < items.rows(); begin += layout.items) {
    const RowRange range{begin, std::min(begin + layout.items, items.rows())};
    block.build(items, range, vocabulary.size(), layout);
    if (spoil != 0) const_cast<PostingGroup*>(block.postings())->values[0] += spoil;
    AlignedBuffer<std::int64_t> sums;
    sums.require(static_cast<std::size_t>(block.padded_items()));
    std::fill_n(sums.data(), sums.size(), 0);
    BlockTask task;
    task.queries = &queries;
    task.rows = {0, queries.rows()};
    task.block = &block;
    task.out = product.scores.data() + begin;
    task.out_stride = items.rows();
    task.column_sums = sums.data();
    task.partials = product.partials.data() + begin / kFineRows;
    task.partial_stride = blocks;
    task.exp_scale = kScale;
    task.scratch = &scratch;
    product.failed_identities += run(task);
    product.column_sums.insert(product.column_sums.end(), sums.data(), sums.data() + range.size());
  }
  return product;
}

/// Sum over the queries of A(q,i) for each item, modulo 2^64, by the definition.
std::vector<std::int64_t> reference_column_sums(const Matrices& matrices) {
  std::vector<std::int64_t> sums;
  for (std::int64_t i = 0; i < matrices.items.rows(); ++i) {
    std::uint64_t sum = 0;
    for (std::int64_t q = 0; q < matrices.queries.rows(); ++q) {
      sum += static_cast<std::uint64_t>(exact_sum(matrices.queries, q, matrices.items, i));
    }
    sums.push_back(static_cast<std::int64_t>(sum));
  }
  return sums;
}

/// The softmax partials of the block sums, by their definition.
std::vector<SoftmaxPartial> reference_partials(const Matrices& matrices,
                                               std::span<const float> cosines) {
  const std::int64_t items = matrices.items.rows();
  std::vector<SoftmaxPartial> partials;
  for (std::int64_t q = 0; q < matrices.queries.rows(); ++q) {
    for (std::int64_t begin = 0; begin < items; begin += kFineRows) {
      const auto block =
          cosines.subspan(static_cast<std::size_t>(q * items + begin),
                          static_cast<std::size_t>(std::min(kFineRows, items - begin)));
      partials.push_back(matrices.queries.columns_of(q).empty()
                             ? SoftmaxPartial{}
                             : softmax_partial(block, 0, kScale));
    }
  }
  return partials;
}

std::int64_t different_bits(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::int64_t different = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    different += std::bit_cast<std::uint32_t>(a[k]) != std::bit_cast<std::uint32_t>(b[k]);
  }
  return different;
}

/// Expects the bits of the reference from every instruction set, sub-block size and dense share.
void expect_the_bits_of_a_merge(const Matrices& matrices) {
  const auto scores = test::reference(matrices.queries, matrices.items);
  const auto column_sums = reference_column_sums(matrices);
  const auto partials = matrices.format.metric == Metric::kCosine
                            ? reference_partials(matrices, scores)
                            : std::vector<SoftmaxPartial>{};
  for (const Simd simd : simds_of_this_machine()) {
    const CpuKernel kernel = CpuKernel::choose(simd);
    for (const std::int64_t sub_block : {1, 7, 31, 33, 1000, 1024, 1500, 2048}) {
      for (const double share : {kNeverDense, 0.12, kAlwaysDense}) {
        SCOPED_TRACE(kernel.name() + ", sub-blocks of " + std::to_string(sub_block) +
                     ", dense from " + std::to_string(share));

        const Product found = multiply(matrices, kernel, {sub_block, share, kernel.lanes()});

        EXPECT_EQ(found.failed_identities, 0);
        EXPECT_EQ(different_bits(found.scores, scores), 0);
        EXPECT_EQ(found.column_sums, column_sums);
        if (sub_block % kFineRows == 0) {
          EXPECT_EQ(found.partials, partials);
        }
      }
    }
  }
}

/// A row with an entry in every column, of several sizes.
Entries every_column(Column columns, double value) {
  Entries entries;
  for (Column column = 0; column < columns; ++column) {
    entries.emplace_back(column, value * (1.0 + column % 7));
  }
  return entries;
}

/// A row of `count` entries spread over the columns, of either sign and of magnitudes from
/// 10^-decades to 10^decades; the first is in column 0.
Entries random_row(Column columns, Column count, double decades, Random& random) {
  Entries entries;
  for (Column k = 0; k < count; ++k) {
    const double size = std::pow(10.0, decades * (2.0 * random.unit() - 1.0));
    entries.emplace_back(k * (columns / count), random.below(3) == 0 ? -size : size);
  }
  return entries;
}

QuantizedRows rows_of(Column columns, const std::vector<Entries>& rows, FixedPoint format = kQ26) {
  return test::quantized_rows(test::matrix_of(columns, rows), format);
}

/// Rows of `random_row`, of 1 to `longest` entries.
QuantizedRows random_rows(std::int64_t rows, Column columns, Column longest, double decades,
                          std::uint64_t seed) {
  Random random(seed);
  std::vector<Entries> entries;
  for (std::int64_t row = 0; row < rows; ++row) {
    entries.push_back(
        random_row(columns, 1 + static_cast<Column>(random.below(longest)), decades, random));
  }
  return rows_of(columns, entries);
}

TEST(CpuKernel, RunsScalarInstructionsAndTheBestOfThisMachine) {
  EXPECT_GE(simds_of_this_machine().size(), 2U);
}

TEST(CpuKernel, GivesTheBitsOfAMergeForRandomRowsWithEverySubBlock) {
  expect_the_bits_of_a_merge({test::quantized_rows(test::random_rows(9, 300, 12, 1)),
                              test::quantized_rows(test::random_rows(2600, 300, 15, 2))});
}

TEST(CpuKernel, GivesTheBitsOfAMergeForFullAndEmptyRows) {
  const QuantizedRows queries =
      rows_of(64, {{}, every_column(64, -0.1), {{63, 1.0}}, every_column(64, 3.0)});
  const QuantizedRows items =
      rows_of(64, {{{0, 2.0}}, every_column(64, 0.7), {}, {{5, 1.0}, {63, -1.0}}});

  expect_the_bits_of_a_merge({queries, items});
}

TEST(CpuKernel, GivesTheBitsOfAMergeForAColumnInEveryRow) {
  expect_the_bits_of_a_merge({random_rows(5, 50, 8, 1.0, 3), random_rows(1500, 50, 4, 1.0, 4)});
}

TEST(CpuKernel, GivesTheBitsOfAMergeForValuesOfAllMagnitudes) {
  expect_the_bits_of_a_merge({random_rows(8, 40, 10, 30.0, 5), random_rows(1100, 40, 10, 30.0, 6)});
}

TEST(CpuKernel, GivesTheBitsOfAMergeForRowsWithoutNegativeValues) {
  const QuantizedRows queries =
      rows_of(64, {{{3, 1.0}}, every_column(64, 0.1), {}, {{0, 1.0}, {9, 7.0}}});
  const QuantizedRows items = rows_of(
      64, {every_column(64, 5.0), {{3, 2.0}}, {}, {{0, 3.0}, {9, 21.0}}, {{1, 1e-5}, {3, 9.0}}});

  expect_the_bits_of_a_merge({queries, items});
}

/// Rows without negative values; every third one is a set.
std::vector<Entries> positive_rows(std::int64_t rows, Column columns, Column longest,
                                   std::uint64_t seed) {
  Random random(seed);
  std::vector<Entries> all;
  for (std::int64_t row = 0; row < rows; ++row) {
    Entries entries =
        random_row(columns, 1 + static_cast<Column>(random.below(longest)), 1.0, random);
    for (auto& [column, value] : entries)
      value = row % 3 == 1 ? 1.0 : std::abs(value);
    all.push_back(entries);
  }
  return all;
}

TEST(CpuKernel, GivesTheBitsOfAMergeForRowsComparedWithThemselves) {
  const QuantizedRows batch = rows_of(30, positive_rows(60, 30, 15, 10));
  std::int64_t above_one = 0;
  for (std::int64_t row = 0; row < batch.rows(); ++row)
    above_one += test::squares_of(batch, row) > test::kOneInQ26;

  EXPECT_GT(above_one, 0);  // rounding makes some rows longer than 1
  EXPECT_LT(above_one, batch.rows());
  expect_the_bits_of_a_merge({batch, batch});
}

/// Pairs whose sums are over 2^52 although their cosines are below 1, among other rows and in odd
/// places. Queries 4 and 6 have a column that no item has: A with query 4 may still be that large.
Matrices rows_with_large_sums(bool negative) {
  const auto [one, other] = test::rows_rounded_up();
  const Entries empty;
  Entries with_small = one;
  with_small.emplace_back(205, 100.0);
  Entries with_large = one;
  with_large.emplace_back(205, 0x1p24);
  Entries near = one;  // as a near-duplicate
  near[7].second *= 1 + 1e-4;
  const Entries limit{{0, 0x1p26 - 1}, {1, 11585}, {2, 74}, {3, 5}, {4, 1}};  // N = 2^52
  std::vector<Entries> items = positive_rows(1100, 200, 9, 12);
  items[7] = limit;
  for (const std::size_t at : {0, 17, 33, 1023, 1024, 1091})
    items[at] = at % 2 == 0 ? one : other;
  items[34] = near;
  items[35] = empty;
  if (negative) items[36] = {{0, -1.0}, {3, 2.5}};
  const std::vector<Entries> queries{{{3, 1.0}, {7, 2.0}}, one,  empty,      other,
                                     with_small,           near, with_large, limit};
  return {rows_of(210, queries), rows_of(210, items)};
}

TEST(CpuKernel, GivesTheBitsOfAMergeForSumsOverTwoToTheFiftyTwo) {
  for (const bool negative : {false, true}) {
    const Matrices matrices = rows_with_large_sums(negative);
    const auto& [queries, items, format] = matrices;
    ASSERT_GT(exact_sum(queries, 1, items, 17), test::kOneInQ26);
    ASSERT_GT(exact_sum(queries, 3, items, 1024), test::kOneInQ26);
    ASSERT_GT(exact_sum(queries, 4, items, 33), test::kOneInQ26);
    ASSERT_EQ(exact_sum(queries, 7, items, 7), test::kOneInQ26);
    ASSERT_EQ(exact_score(queries, 1, items, 17), 1 - 0x1p-24f);
    ASSERT_EQ(exact_score(queries, 1, items, 1024), 1.0f);

    expect_the_bits_of_a_merge(matrices);
  }
}

TEST(CpuKernel, GivesTheBitsOfAMergeForTinyCosines) {
  // down to 2^-50 in Q26 and 2^-60 in Q30
  const std::vector<Entries> q26{{{0, 0x1p25}, {1, 1.0}}, {{0, 0x1p25}, {1, 3.0}}, {{2, 1.0}}};
  const std::vector<Entries> i26{{{1, 1.0}, {3, 0x1p25}}, {{1, 3.0}, {2, 0x1p25}}, {}};
  const Matrices small{rows_of(4, q26), rows_of(4, i26)};
  const std::vector<Entries> q30{{{0, 0x1p30}, {1, 1.0}}, {{0, 0x1p30}, {1, 3.0}}};
  const std::vector<Entries> i30{{{1, 1.0}, {2, 0x1p30}}, {{1, -1.0}, {2, 0x1p30}}};
  const Matrices least{rows_of(3, q30, kQ30), rows_of(3, i30, kQ30), kQ30};

  expect_the_bits_of_a_merge(small);
  expect_the_bits_of_a_merge(least);
  EXPECT_EQ(exact_score(small.queries, 0, small.items, 0), 0x1p-50f);
  EXPECT_EQ(exact_score(small.queries, 0, small.items, 1), 0x3p-50f);
  EXPECT_EQ(exact_score(least.queries, 0, least.items, 1), -0x1p-60f);
  EXPECT_EQ(reference_partials(least, test::reference(least.queries, least.items))[0].largest, 1);
}

/// `rows` with all values times 2^exponent.
QuantizedRows dot_rows(std::vector<Entries> rows, int exponent) {
  for (Entries& row : rows) {
    for (auto& [column, value] : row)
      value = std::ldexp(value, exponent);
  }
  return rows_of(60, rows, kDotQ26);
}

TEST(CpuKernel, GivesTheBitsOfAMergeForDotProductsOfRowsOfAnyLength) {
  const std::vector<Entries> long_integers{{{0, 0x1p26}, {1, 0x1p25 + 1}, {5, -3.0}},  // over 2^52
                                           {{0, 0x1p26 - 1}, {2, 3.0}},
                                           {{1, -4'000'000.0}, {9, 5.0}}};
  std::vector<Entries> queries = positive_rows(7, 60, 12, 13);
  std::vector<Entries> items = positive_rows(1100, 60, 12, 14);
  queries.insert(queries.end(), long_integers.begin(), long_integers.end());
  items.insert(items.begin() + 33, long_integers.begin(), long_integers.end());
  items[77].clear();
  const std::vector long_row{0x1p26, 0x1p25 + 1, -3.0};
  ASSERT_EQ(integer_exponent(long_row, row_size(long_row)), std::nullopt);

  for (const auto& [up, down] : {std::pair{0, 0}, {300, -300}, {-140, 0}, {-500, -500}}) {
    const Matrices matrices{dot_rows(queries, up), dot_rows(items, down), kDotQ26};
    SCOPED_TRACE("2^" + std::to_string(up) + ", 2^" + std::to_string(down));

    expect_the_bits_of_a_merge(matrices);
  }
  const QuantizedRows tiny = dot_rows(long_integers, -500);
  EXPECT_LT(exact_sum(tiny, 0, tiny, 2), 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(exact_score(tiny, 0, tiny, 2)), 0U);
}

TEST(CpuKernel, GivesTheBitsOfAMergeInQ30) {
  Random random(7);
  std::vector<Entries> queries{{{0, 2.0}}, {}, every_column(12000, 1e-30)};
  std::vector<Entries> items{{{0, -1.0}}, {}, every_column(12000, 1e30)};
  for (int row = 0; row < 30; ++row)
    items.push_back(random_row(12000, 10000, 2.0, random));
  for (int row = 0; row < 3; ++row)
    queries.push_back(random_row(12000, 10000, 2.0, random));

  expect_the_bits_of_a_merge({rows_of(12000, queries, kQ30), rows_of(12000, items, kQ30), kQ30});
}

TEST(CpuKernel, GivesExactlyOneForEqualRowsAndMinusOneForOppositeOnes) {
  const QuantizedRows queries = rows_of(3, {{{0, 1.0}}, {{0, 1.0}, {1, 1.0}, {2, 1.0}}});
  const QuantizedRows items = rows_of(3, {{{0, -5.0}}, {{0, 3.0}, {1, 3.0}, {2, 3.0}}});

  for (const Simd simd : simds_of_this_machine()) {
    const CpuKernel kernel = CpuKernel::choose(simd);
    const Product found = multiply({queries, items}, kernel, {2048, 0.12, kernel.lanes()});

    EXPECT_EQ(found.scores[0], -1.0f);
    EXPECT_EQ(found.scores[3], 1.0f);
  }
}

TEST(CpuKernel, FindsAPostingThatIsOffByOne) {
  const Matrices matrices{random_rows(30, 20, 6, 1.0, 8), random_rows(100, 20, 3, 1.0, 9)};

  for (const Simd simd : simds_of_this_machine()) {
    const CpuKernel kernel = CpuKernel::choose(simd);
    const Product found = multiply(matrices, kernel, {2048, kNeverDense, kernel.lanes()}, 1);

    EXPECT_GT(found.failed_identities, 0);
    EXPECT_NE(found.column_sums, reference_column_sums(matrices));
  }
}

}  // namespace
}  // namespace bulksim
