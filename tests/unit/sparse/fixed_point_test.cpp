#include "bulksim/sparse/fixed_point.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/sparse/quantized_rows.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "support/arithmetic_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::matrix_of;
using test::quantized_rows;
using test::Random;
using test::true_cosine;

constexpr double kDenormal = std::numeric_limits<double>::denorm_min();

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::optional<int> exponent_of(const std::vector<double>& values) {
  return integer_exponent(values, row_size(values));
}

double true_cosine(const CsrMatrix& rows, std::int64_t q, std::int64_t i) {
  return true_cosine(rows.view(), q, rows.view(), i);
}

/// Of a row in cosine_bound: 0 for a row that is quantized exactly.
double rounded_nonzeros(CsrView rows, std::int64_t row) {
  return static_cast<double>(value_info(rows.slice({row, row + 1})).rounding.longest_rounded_row);
}

Entries random_row(Random& random, std::size_t length) {
  Entries row;
  for (std::size_t at = 0; at < length; ++at) {
    row.emplace_back(static_cast<Column>(at), random.unit() * 2 - 1 + 1e-9);
  }
  return row;
}

Entries times(Entries row, double factor) {
  for (auto& [column, value] : row)
    value *= factor;
  return row;
}

float score_of(const CsrMatrix& pair) {
  const QuantizedRows rows = quantized_rows(pair);
  return exact_score(rows, 0, rows, 1);
}

/// Row 0 shares `shared` columns with row 1; all except the first add less than the spacing of
/// float32 to a sum near 0.9, but more than half of it.
CsrMatrix adversarial_pair(int shared) {
  const double square = 1.02 * 0x1p-25;
  Entries query{{0, std::sqrt(1.0 - (shared - 1) * square)}};
  Entries item{{0, 0.9}};
  for (int column = 1; column < shared; ++column) {
    query.emplace_back(column, std::sqrt(square));
    item.emplace_back(column, std::sqrt(square));
  }
  item.emplace_back(shared, std::sqrt(1.0 - 0.81 - (shared - 1) * square));
  return matrix_of(shared + 1, {query, item});
}

float float32_chain(const CsrMatrix& pair) {
  const auto query = pair.view().values_of(0);
  const auto item = pair.view().values_of(1);
  float sum = 0.0f;
  for (std::size_t at = 0; at < query.size(); ++at) {
    sum += static_cast<float>(query[at]) * static_cast<float>(item[at]);
  }
  return sum;
}

class AdversarialPair : public testing::TestWithParam<int> {};

TEST_P(AdversarialPair, StaysWithinTheBoundWhereAFloat32ChainDoesNot) {
  const int shared = GetParam();
  const CsrMatrix pair = adversarial_pair(shared);
  const QuantizedRows rows = quantized_rows(pair);
  const double truth = true_cosine(pair, 0, 1);

  const double error = std::fabs(exact_score(rows, 0, rows, 1) - truth);

  EXPECT_LE(error, cosine_bound(shared, shared + 1, kQ26));
  EXPECT_LT(error, 1e-6);
  EXPECT_GT(std::fabs(float32_chain(pair) - truth), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(SharedColumns, AdversarialPair, testing::Values(36, 43, 200, 1000));

TEST(CosineBound, HasThePublishedValues) {
  EXPECT_NEAR(cosine_bound(43, 43, kQ26), 1.3e-7, 0.05e-7);
  EXPECT_NEAR(cosine_bound(200, 200, kQ26), 2.4e-7, 0.05e-7);
  EXPECT_NEAR(cosine_bound(4000, 4000, kQ26), 9.7e-7, 0.05e-7);
  EXPECT_NEAR(cosine_bound(0, 0, kQ26), 0x1p-25, 1e-14);
  EXPECT_LT(cosine_bound(4225, 4225, kQ26), 1e-6);
  EXPECT_LT(cosine_bound(1.08e6, 1.08e6, kQ30), 1e-6);
}

TEST(CosineFormat, IsQ30WhereTheRootsOfTheLengthsAddUpToMoreThan130) {
  EXPECT_EQ(cosine_format(65 * 65, 65 * 65), kQ26);
  EXPECT_EQ(cosine_format(65 * 65, 65 * 65 + 1), kQ30);
  EXPECT_EQ(cosine_format(65 * 65 + 1, 65 * 65), kQ30);
  EXPECT_EQ(cosine_format(130 * 130, 0), kQ26);
  EXPECT_EQ(cosine_format(0, 130 * 130 + 1), kQ30);
  EXPECT_EQ(cosine_format(129 * 129, 1), kQ26);
  EXPECT_EQ(cosine_format(129 * 129, 2), kQ30);
  EXPECT_EQ(cosine_format(0, 0), kQ26);
}

TEST(FixedPoint, RandomRowsStayWithinTheirBound) {
  Random random(7);
  for (const std::size_t length : {1, 2, 10, 43, 200, 1000, 4000}) {
    for (int trial = 0; trial < 20; ++trial) {
      const CsrMatrix pair =
          matrix_of(4000, {random_row(random, length), random_row(random, length)});
      const QuantizedRows rows = quantized_rows(pair);

      const double error = std::fabs(exact_score(rows, 0, rows, 1) - true_cosine(pair, 0, 1));

      const auto nonzeros = static_cast<double>(length);
      ASSERT_LE(error, cosine_bound(nonzeros, nonzeros, kQ26)) << length;
    }
  }
}

TEST(FixedPoint, Q30HoldsTheBoundForRowsOfManyThousandNonzeros) {
  Random random(8);
  const CsrMatrix pair =
      matrix_of(100000, {random_row(random, 100000), random_row(random, 100000)});
  const QuantizedRows rows = quantized_rows(pair, kQ30);

  const double error = std::fabs(exact_score(rows, 0, rows, 1) - true_cosine(pair, 0, 1));

  EXPECT_LE(error, cosine_bound(1e5, 1e5, kQ30));
  EXPECT_LT(error, 1e-6);
}

TEST(FixedPoint, ACorpusOfExactRoundedAndEmptyRowsStaysWithinTheBoundsOfItsPairs) {
  const CsrMatrix queries = test::random_rows(90, 200, 12, 21);
  const CsrMatrix items = test::random_rows(300, 200, 15, 22);
  const RoundingInfo rounding = value_info(queries.view()).rounding;
  ASSERT_GT(rounding.exact_rows, 30);
  ASSERT_LT(rounding.exact_rows, 80);
  const ValueInfo long_queries = value_info(queries.view());
  const ValueInfo long_items = value_info(items.view());
  for (const FixedPoint format : {kQ26, kQ30, kDotQ26}) {
    const QuantizedRows q = quantized_rows(queries, format);
    const QuantizedRows i = quantized_rows(items, format);
    for (std::int64_t a = 0; a < q.rows(); ++a) {
      for (std::int64_t b = 0; b < i.rows(); ++b) {
        const bool dot = format.metric == Metric::kDot;
        const double n_q = rounded_nonzeros(queries.view(), a);
        const double n_i = rounded_nonzeros(items.view(), b);
        const double truth =
            dot ? static_cast<double>(test::true_dot(queries.view(), a, items.view(), b))
                : true_cosine(queries.view(), a, items.view(), b);
        const double bound =
            dot ? dot_bound(n_q, n_i, long_queries.longest, long_items.longest, format)
                : cosine_bound(n_q, n_i, format);

        ASSERT_NEAR(exact_score(q, a, i, b), truth, bound) << a << ", " << b;
      }
    }
  }
}

TEST(IntegerExponent, IsTheLargestWithWhichAllValuesAreIntegers) {
  EXPECT_EQ(exponent_of({1.0}), 0);
  EXPECT_EQ(exponent_of({8.0, -8.0}), 3);
  EXPECT_EQ(exponent_of({6.0, -4.0, 2.0}), 1);
  EXPECT_EQ(exponent_of({6.0, -4.0, 3.0}), 0);
  EXPECT_EQ(exponent_of({0.75, -0.5}), -2);
  EXPECT_EQ(exponent_of({1024.0, 0x1p-10}), -10);
  EXPECT_EQ(exponent_of({-0x1p-10, 1024.0}), -10);
  EXPECT_EQ(exponent_of({0x3p996, -0x5p998, 0x7p996}), 996);
  EXPECT_EQ(exponent_of({0x1p1023}), 1023);
  EXPECT_EQ(exponent_of({0x3p-1030, 0x1p-1020}), -1030);
  EXPECT_EQ(exponent_of({kDenormal}), -1074);
  EXPECT_EQ(exponent_of({-3 * kDenormal, 6 * kDenormal, 0x1p-1050}), -1074);
  EXPECT_EQ(exponent_of({0.5f, 0.7f, -0.6f}), -24);
}

TEST(IntegerExponent, IsThereUpToASumOfSquaresOfTwoToTheFiftyTwo) {
  const std::vector<double> limit{0x1p26 - 1, 11585, 74, -5, 1};  // their squares add up to 2^52
  for (const int exponent : {-1074, -700, 0, 1, 900}) {
    std::vector<double> values = limit;
    for (double& value : values)
      value = std::ldexp(value, exponent);
    EXPECT_EQ(exponent_of(values), exponent);

    values.push_back(std::ldexp(1.0, exponent));

    EXPECT_EQ(exponent_of(values), std::nullopt) << exponent;
  }
  EXPECT_EQ(exponent_of({0x1p60, 0x1p60}), 60);
  EXPECT_EQ(exponent_of({0x1p26 + 1}), std::nullopt);
}

TEST(IntegerExponent, IsMissingForATinyValueBesideAHugeOne) {
  EXPECT_EQ(exponent_of({1.0, 0x1p-25}), -25);
  EXPECT_EQ(exponent_of({1.0, 0x1p-26}), std::nullopt);
  EXPECT_EQ(exponent_of({0x1p-27, 1.0}), std::nullopt);
  EXPECT_EQ(exponent_of({1e200, 1e-200}), std::nullopt);
  EXPECT_EQ(exponent_of({0x1p1023, kDenormal}), std::nullopt);
  EXPECT_EQ(exponent_of({0.1}), std::nullopt);  // 53 bits
  EXPECT_EQ(exponent_of({1e300}), std::nullopt);
}

TEST(IntegerExponent, IsThereForSixteenFloat32NumbersOfOneExponent) {
  Random random(5);
  std::vector<double> values;
  for (int entry = 0; entry < 16; ++entry)
    values.push_back(std::ldexp(static_cast<float>(0.5 + 0.49 * random.unit()), 70));
  values.front() = 0x1.fffffep69;

  EXPECT_EQ(exponent_of(values), 46);
}

struct QuantizedRow {
  std::vector<std::int32_t> values;
  double scale;
};

QuantizedRow quantized(const std::vector<double>& values, FixedPoint format) {
  QuantizedRow row{std::vector<std::int32_t>(values.size(), -7), 0.0};
  row.scale = quantize_row(values, format, row.values.data());
  return row;
}

TEST(QuantizeRow, TakesTheIntegersOfARowOfIntegers) {
  const std::vector<double> values{0x3p-7, -0x4p-7};
  for (const FixedPoint format : {kQ26, kQ30}) {
    EXPECT_EQ(quantized(values, format).values, (std::vector<std::int32_t>{3, -4}));
    EXPECT_EQ(quantized(values, format).scale, 1.0 / 5.0);
  }
  EXPECT_EQ(quantized(values, kDotQ26).values, (std::vector<std::int32_t>{3, -4}));
  EXPECT_EQ(quantized(values, kDotQ26).scale, 0x1p-7);
  EXPECT_EQ(quantized({1, 1, 1}, kQ26).scale, 1.0 / std::sqrt(3.0));
  EXPECT_EQ(quantized({-3 * kDenormal, kDenormal}, kDotQ26).scale, kDenormal);
  EXPECT_EQ(quantized({}, kQ26).scale, 0.0);
  EXPECT_EQ(quantized({}, kDotQ26).scale, 0.0);
}

TEST(QuantizeRow, RoundsTheSharesOfTheNormOfAnyOtherRow) {
  Random random(12);
  for (int trial = 0; trial < 1000; ++trial) {
    const int exponent = static_cast<int>(random.below(1900)) - 950;
    std::vector<double> values(static_cast<std::size_t>(2 + random.below(40)));
    double largest = 0.0;
    for (double& value : values) {
      value = std::ldexp(random.unit() * 2 - 1, exponent);
      largest = std::max(largest, std::fabs(value));
    }
    ASSERT_EQ(exponent_of(values), std::nullopt);
    double squares = 0.0;
    for (const double value : values)
      squares += std::pow(std::ldexp(value, -std::ilogb(largest)), 2);
    const double norm = std::sqrt(squares);
    for (const FixedPoint format : {kQ26, kQ30, kDotQ26}) {
      std::vector<std::int32_t> expected;
      std::int64_t sum = 0;
      for (const double value : values) {
        const double unit = std::ldexp(value, -std::ilogb(largest)) / norm;
        expected.push_back(
            static_cast<std::int32_t>(std::nearbyint(std::ldexp(unit, format.bits))));
        sum += std::int64_t{expected.back()} * expected.back();
      }
      const double length = std::sqrt(static_cast<double>(sum));

      const QuantizedRow row = quantized(values, format);

      ASSERT_EQ(row.values, expected);
      const double dot_scale = std::ldexp(norm, std::ilogb(largest)) / length;
      ASSERT_EQ(row.scale, format.metric == Metric::kDot ? dot_scale : 1.0 / length);
    }
  }
}

TEST(QuantizeRow, RoundsHalvesToEven) {
  // the squares add up to 2^54, so the norm is 2^27 and each value becomes half of it
  const std::vector<double> values{1, 3, -3, 9, 2, 148, 23170, 0x1p27 - 2};
  ASSERT_EQ(exponent_of(values), std::nullopt);

  EXPECT_EQ(quantized(values, kQ26).values,
            (std::vector<std::int32_t>{0, 2, -2, 4, 1, 74, 11585, (1 << 26) - 1}));
  EXPECT_EQ(quantized(values, kQ30).values,
            (std::vector<std::int32_t>{8, 24, -24, 72, 16, 1184, 185360, (1 << 30) - 16}));
}

TEST(RoundHalfEven, IsTheRoundingOfTheProcessor) {
  for (const double x : {0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 1e9 + 0.5,
                         0x1p50 + 0.5, 0x1p50 + 1.5, -0x1p50 - 0.5}) {
    EXPECT_EQ(round_half_even(x), std::nearbyint(x)) << x;
  }
}

TEST(RowSize, TakesThePowerOfTwoOfTheLargestValue) {
  const RowSize size = row_size(std::vector{1.0, -12.0, 5.0});

  EXPECT_EQ(size.exponent, 3);
  EXPECT_EQ(size.norm(), std::sqrt(170.0) / 8);
  EXPECT_EQ(size.length(), std::sqrt(170.0));
  EXPECT_DOUBLE_EQ(row_size(std::vector{3e200, -4e200}).length(), 5e200);
  EXPECT_EQ(row_size({}).length(), 0.0);
}

TEST(FixedPoint, ARowScoresOneWithItselfAndWithItsMultiples) {
  Random random(31);
  for (int trial = 0; trial < 300; ++trial) {
    const Entries rounded = random_row(random, static_cast<std::size_t>(3 + random.below(60)));
    Entries exact = rounded;
    for (auto& [column, value] : exact)
      value = static_cast<double>(1 + random.below(100) * (column % 2 == 0 ? 1 : -1));
    const CsrMatrix matrix =
        matrix_of(70, {rounded, times(rounded, 0x1p-300), times(rounded, 0x1p40),
                       times(rounded, -0x1p7), exact, times(exact, 0x1p500), times(exact, 3),
                       times(exact, 0.1), times(exact, -1), times(exact, -1001)});
    for (const FixedPoint format : {kQ26, kQ30}) {
      const QuantizedRows rows = quantized_rows(matrix, format);
      for (const std::int64_t same : {0, 1, 2})
        ASSERT_EQ(bits_of(exact_score(rows, 0, rows, same)), bits_of(1.0f)) << same;
      ASSERT_EQ(exact_score(rows, 0, rows, 3), -1.0f);
      for (const std::int64_t same : {4, 5, 6, 7})
        ASSERT_EQ(bits_of(exact_score(rows, 4, rows, same)), bits_of(1.0f)) << same;
      ASSERT_EQ(exact_score(rows, 4, rows, 8), -1.0f);
      ASSERT_EQ(exact_score(rows, 4, rows, 9), -1.0f);
    }
  }
}

TEST(FixedPoint, TwoRowsScoreTheSameInBothOrders) {
  const CsrMatrix rows = test::random_rows(200, 100, 12, 32);
  for (const FixedPoint format : {kQ26, kQ30, kDotQ26}) {
    const QuantizedRows q = quantized_rows(rows, format);
    std::int64_t different = 0;
    for (std::int64_t a = 0; a < q.rows(); ++a) {
      for (std::int64_t b = 0; b < a; ++b)
        different += bits_of(exact_score(q, a, q, b)) != bits_of(exact_score(q, b, q, a));
    }

    EXPECT_EQ(different, 0);
  }
}

TEST(FixedPoint, RowsScoreExactlyOneWithThemselvesWithoutAClamp) {
  Random random(26);
  std::int64_t above = 0;
  for (int trial = 0; trial < 10'000; ++trial) {
    const QuantizedRows rows = quantized_rows(matrix_of(500, {random_row(random, 500)}));

    const std::int64_t sum = test::squares_of(rows, 0);
    const double cosine = static_cast<double>(sum) * (rows.scales[0] * rows.scales[0]);

    above += sum > test::kOneInQ26;
    ASSERT_LE(cosine, 1 + 7 * 0x1p-53) << trial;
    ASSERT_EQ(static_cast<float>(cosine), 1.0f) << trial;
    ASSERT_EQ(exact_score(rows, 0, rows, 0), 1.0f) << trial;
  }
  EXPECT_GT(above, 1000);  // rounding makes rows longer as often as shorter
  EXPECT_LT(above, 9000);
}

TEST(FixedPoint, RowsThatAreRoundedUpScoreTheirCosineBelowOne) {
  const auto [one, other] = test::rows_rounded_up();
  const CsrMatrix pair = matrix_of(200, {one, other});
  const QuantizedRows rows = quantized_rows(pair);
  const double truth = true_cosine(pair, 0, 1);
  ASSERT_NEAR(truth, 1 - 7e-8, 0.2e-8);

  ASSERT_EQ(value_info(pair.view()).rounding.exact_rows, 0);
  ASSERT_GT(exact_sum(rows, 0, rows, 1), test::kOneInQ26);

  EXPECT_EQ(exact_score(rows, 0, rows, 1), 1 - 0x1p-24f);
  EXPECT_NEAR(exact_score(rows, 0, rows, 1), truth, cosine_bound(200, 200, kQ26));
}

/// Whether `score` is the float32 nearest to shared / sqrt(q i): a comparison of integers of at
/// most 64 bits, exact in long double.
bool is_nearest(float score, std::int64_t shared, std::int64_t q, std::int64_t i) {
  const auto side_of = [&](float neighbour) {  // of the middle between both
    const long double middle = (static_cast<double>(score) + static_cast<double>(neighbour)) / 2;
    return middle * middle * static_cast<long double>(q * i) -
           static_cast<long double>(shared * shared);
  };
  return side_of(std::nextafter(score, -2.0f)) < 0 && side_of(std::nextafter(score, 2.0f)) > 0;
}

TEST(Sets, ScoreTheFloatNearestToTheirTrueCosineAtAllSizesUpTo39) {
  constexpr std::int64_t kLargest = 39;
  std::vector<Entries> queries;
  std::vector<Entries> items;
  for (Column size = 1; size <= kLargest; ++size) {
    Entries& query = queries.emplace_back();
    for (Column column = 0; column < size; ++column)
      query.emplace_back(column, 1.0 / size);  // any value: all are equal
    for (Column shared = 1; shared <= size; ++shared) {
      Entries& item = items.emplace_back();
      for (Column column = 0; column < size; ++column)
        item.emplace_back(column < shared ? column : column + kLargest, 1.0);
    }
  }
  const QuantizedRows q = quantized_rows(matrix_of(2 * kLargest, queries));
  const QuantizedRows i = quantized_rows(matrix_of(2 * kLargest, items));
  std::int64_t wrong = 0;
  std::int64_t item = 0;
  for (std::int64_t size = 1; size <= kLargest; ++size) {
    for (std::int64_t first = 1; first <= size; ++first, ++item) {
      for (std::int64_t query = 1; query <= kLargest; ++query) {
        const std::int64_t shared = std::min(first, query);
        wrong += !is_nearest(exact_score(q, query - 1, i, item), shared, query, size);
      }
    }
  }

  EXPECT_EQ(item, 780);
  EXPECT_EQ(wrong, 0);
}

TEST(FixedPoint, ACosineJustBelowOneIsNotRoundedToOne) {
  const double near = 0.99995;
  const CsrMatrix pair = matrix_of(2, {{{0, 3.0}}, {{0, near}, {1, std::sqrt(1 - near * near)}}});

  const float cosine = score_of(pair);

  EXPECT_NEAR(cosine, near, 1e-6);
}

class ExtremeValues : public testing::TestWithParam<double> {};

TEST_P(ExtremeValues, ScaleRowsOfAnySizeToTheSameCosine) {
  const double scale = GetParam();
  const CsrMatrix pair = matrix_of(
      4, {{{0, 3 * scale}, {1, -4 * scale}, {2, scale}}, {{0, 1.0}, {1, -1.0}, {3, 2.0}}});

  const float cosine = score_of(pair);

  EXPECT_NEAR(cosine, 7.0 / std::sqrt(26.0) / std::sqrt(6.0), 2e-7);
}

INSTANTIATE_TEST_SUITE_P(Scales, ExtremeValues,
                         testing::Values(1e-30, 1e30, 1e200, 1e-200, 1e307, 1e-300,
                                         std::numeric_limits<double>::denorm_min(), 1.0));

TEST(FixedPoint, AScaleThatIsAPowerOfTwoChangesNoBit) {
  Random random(3);
  const Entries row = random_row(random, 50);
  const QuantizedRows plain = quantized_rows(matrix_of(50, {row}));
  for (const int exponent : {-1000, -500, -1, 1, 500, 1000}) {
    Entries scaled = row;
    for (auto& [column, value] : scaled)
      value = std::ldexp(value, exponent);

    const QuantizedRows rows = quantized_rows(matrix_of(50, {scaled}));

    EXPECT_EQ(rows.values, plain.values) << exponent;
  }
}

TEST(FixedPoint, TinyValuesBesideHugeOnesAreDroppedWithoutHarm) {
  const CsrMatrix pair =
      matrix_of(3, {{{0, 1e200}, {1, 1e-200}, {2, -1e200}}, {{1, 1e-200}, {2, 1e-200}}});
  const QuantizedRows rows = quantized_rows(pair);

  const float cosine = exact_score(rows, 0, rows, 1);

  EXPECT_EQ(rows.row_offsets, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_NEAR(cosine, -0.5, 1e-7);
}

TEST(TimesPowerOfTwo, IsLdexpForEveryExponent) {
  const std::vector<double> values{1.0, -1.7, 0x1.fffffffffffffp1023, 0x1p-1022, -0x1.8p-1070, 0.0};
  std::int64_t wrong = 0;
  for (const double value : values) {
    for (int exponent = -2200; exponent <= 2200; ++exponent) {
      wrong += times_power_of_two(value, exponent) != std::ldexp(value, exponent);
    }
  }

  EXPECT_EQ(wrong, 0);
}

TEST(ToScore, IsPlusZeroWithoutSharedColumnsAndWhereTheProductUnderflows) {
  EXPECT_EQ(bits_of(to_score(0, 0.5, 0.25)), 0U);
  EXPECT_EQ(bits_of(to_score(0, 0.0, 0.0)), 0U);
  EXPECT_EQ(bits_of(to_score(-1, 0x1p-100, 0x1p-100)), 0U);
  EXPECT_EQ(bits_of(to_score(-(std::int64_t{1} << 52), 0x1p-600, 0x1p-600)), 0U);
}

TEST(ToScore, RoundsOnceAndToEven) {
  const std::int64_t half = std::int64_t{1} << 51;  // 0.5, whose step is 2^-24
  const std::int64_t step = std::int64_t{1} << 28;
  const double scale = 0x1p-26;

  EXPECT_EQ(to_score(half + step / 2, scale, scale), 0.5f);
  EXPECT_EQ(to_score(half + step / 2 + 1, scale, scale), 0.5f + 0x1p-24f);
  EXPECT_EQ(to_score(half + step + step / 2, scale, scale), 0.5f + 0x1p-23f);
}

TEST(ToScore, FormsTheProductOfTheScalesFirst) {
  const double third = 1.0 / 3.0;

  EXPECT_EQ(to_score(1, 0x1p-900, 0x1p900), 1.0f);
  EXPECT_EQ(to_score(std::int64_t{1} << 52, 0x1p300 * third, 0x1p-300), 0x1p52f * (1.0f / 3.0f));
}

TEST(ExactSum, IsTheSameInFloat64InAnyOrder) {
  Random random(11);
  const QuantizedRows rows =
      quantized_rows(matrix_of(20000, {random_row(random, 20000), random_row(random, 20000)}));
  const std::int64_t sum = exact_sum(rows, 0, rows, 1);
  const auto q = rows.values_of(0);
  const auto i = rows.values_of(1);
  ASSERT_TRUE(std::ranges::equal(rows.columns_of(0), rows.columns_of(1)));

  for (const std::size_t stride : {1, 3, 7, 1009}) {
    double chain = 0.0;
    for (std::size_t start = 0; start < stride; ++start) {
      for (std::size_t at = start; at < q.size(); at += stride) {
        chain = std::fma(static_cast<double>(q[at]), static_cast<double>(i[at]), chain);
      }
    }

    EXPECT_EQ(chain, static_cast<double>(sum)) << stride;
    EXPECT_EQ(static_cast<std::int64_t>(chain), sum) << stride;
  }
}

TEST(ExactSum, CountsOnlySharedColumns) {
  const std::vector<Column> q_columns{0, 3, 5, 9};
  const std::vector<std::int32_t> q{2, 3, 5, 7};
  const std::vector<Column> i_columns{1, 3, 4, 9, 10};
  const std::vector<std::int32_t> i{11, 13, 17, -19, 23};

  EXPECT_EQ(exact_sum(q_columns, q, i_columns, i), 3 * 13 - 7 * 19);
  EXPECT_EQ(exact_sum(q_columns, q, {}, {}), 0);
}

}  // namespace
}  // namespace bulksim
