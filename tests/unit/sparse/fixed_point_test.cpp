#include "bulksim/sparse/fixed_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/sparse/quantized_rows.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::matrix_of;
using test::quantized_rows;
using test::Random;

float cosine_of(const QuantizedRows& rows, std::int64_t q, std::int64_t i,
                FixedPoint format = kQ26) {
  return to_cosine(exact_sum(rows, q, rows, i), inverse_one(format));
}

/// The cosine of two canonical rows in long double, from the stored values.
double true_cosine(const CsrMatrix& matrix, std::int64_t q, std::int64_t i) {
  const CsrView view = matrix.view();
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    long double sum = 0.0L;
    const auto a_columns = view.columns_of(a);
    const auto b_columns = view.columns_of(b);
    for (std::size_t x = 0, y = 0; x < a_columns.size() && y < b_columns.size();) {
      if (a_columns[x] == b_columns[y]) {
        sum += static_cast<long double>(view.values_of(a)[x++]) * view.values_of(b)[y++];
      } else if (a_columns[x] < b_columns[y]) {
        ++x;
      } else {
        ++y;
      }
    }
    return sum;
  };
  return static_cast<double>(dot(q, i) / std::sqrt(dot(q, q)) / std::sqrt(dot(i, i)));
}

Entries random_row(Random& random, std::size_t length) {
  Entries row;
  for (std::size_t at = 0; at < length; ++at) {
    row.emplace_back(static_cast<Column>(at), random.unit() * 2 - 1 + 1e-9);
  }
  return row;
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
  const double truth = true_cosine(pair, 0, 1);

  const double error = std::fabs(cosine_of(quantized_rows(pair), 0, 1) - truth);

  EXPECT_LE(error, cosine_bound(shared, shared, shared + 1, kQ26));
  EXPECT_LT(error, 1e-6);
  EXPECT_GT(std::fabs(float32_chain(pair) - truth), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(SharedColumns, AdversarialPair, testing::Values(36, 43, 200, 1000));

TEST(CosineBound, HasThePublishedValues) {
  EXPECT_NEAR(cosine_bound(43, 43, 43, kQ26), 1.3e-7, 0.05e-7);
  EXPECT_NEAR(cosine_bound(200, 200, 200, kQ26), 2.4e-7, 0.05e-7);
  EXPECT_NEAR(cosine_bound(4000, 4000, 4000, kQ26), 9.7e-7, 0.05e-7);
  EXPECT_LT(cosine_bound(kQ26Nonzeros, kQ26Nonzeros, kQ26Nonzeros, kQ26), 1e-6);
  EXPECT_LT(cosine_bound(1.08e6, 1.08e6, 1.08e6, kQ30), 1e-6);
}

TEST(FixedPoint, RandomRowsStayWithinTheirBound) {
  Random random(7);
  for (const std::size_t length : {1, 2, 10, 43, 200, 1000, 4000}) {
    for (int trial = 0; trial < 20; ++trial) {
      const CsrMatrix pair =
          matrix_of(4000, {random_row(random, length), random_row(random, length)});

      const double error =
          std::fabs(cosine_of(quantized_rows(pair), 0, 1) - true_cosine(pair, 0, 1));

      const auto shared = static_cast<double>(length);
      ASSERT_LE(error, cosine_bound(shared, shared, shared, kQ26)) << length;
    }
  }
}

TEST(FixedPoint, Q30HoldsTheBoundForRowsOfManyThousandNonzeros) {
  Random random(8);
  const CsrMatrix pair =
      matrix_of(100000, {random_row(random, 100000), random_row(random, 100000)});

  const double error =
      std::fabs(cosine_of(quantized_rows(pair, kQ30), 0, 1, kQ30) - true_cosine(pair, 0, 1));

  EXPECT_LE(error, cosine_bound(1e5, 1e5, 1e5, kQ30));
  EXPECT_LT(error, 1e-6);
}

TEST(FixedPoint, TheCosineOfARowWithItselfIsOneWithinAMillionthAndNeverMore) {
  Random random(26);
  for (int row = 0; row < 10000; ++row) {
    const QuantizedRows rows = quantized_rows(matrix_of(500, {random_row(random, 500)}));

    const std::int64_t sum = exact_sum(rows, 0, rows, 0);
    const float cosine = to_cosine(sum, inverse_one(kQ26));

    ASSERT_NEAR(std::ldexp(static_cast<double>(sum), -52), 1.0, 1e-6) << row;  // before the clamp
    ASSERT_LE(cosine, 1.0f) << row;
    ASSERT_NEAR(cosine, 1.0f, 1e-6) << row;
  }
}

TEST(FixedPoint, ACosineJustBelowOneIsNotRoundedToOne) {
  const double near = 0.99995;
  const CsrMatrix pair = matrix_of(2, {{{0, 3.0}}, {{0, near}, {1, std::sqrt(1 - near * near)}}});

  const float cosine = cosine_of(quantized_rows(pair), 0, 1);

  EXPECT_NEAR(cosine, near, 1e-6);
}

class ExtremeValues : public testing::TestWithParam<double> {};

TEST_P(ExtremeValues, ScaleRowsOfAnySizeToTheSameCosine) {
  const double scale = GetParam();
  const CsrMatrix pair = matrix_of(
      4, {{{0, 3 * scale}, {1, -4 * scale}, {2, scale}}, {{0, 1.0}, {1, -1.0}, {3, 2.0}}});

  const float cosine = cosine_of(quantized_rows(pair), 0, 1);

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

  const float cosine = cosine_of(rows, 0, 1);

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

TEST(RowScale, IsZeroForAnEmptyRow) {
  const RowScale scale = row_scale({});

  EXPECT_EQ(scale.norm, 0.0);
}

TEST(RowScale, TakesThePowerOfTwoOfTheLargestValue) {
  const RowScale scale = row_scale(std::vector{1.0, -12.0, 5.0});

  EXPECT_EQ(scale.exponent, 3);
  EXPECT_EQ(scale.norm, std::sqrt(170.0) / 8);
}

TEST(Quantize, RoundsHalvesToEven) {
  const RowScale unit{0, 1.0};

  EXPECT_EQ(quantize(0.5 * 0x1p-26, unit, kQ26), 0);
  EXPECT_EQ(quantize(1.5 * 0x1p-26, unit, kQ26), 2);
  EXPECT_EQ(quantize(2.5 * 0x1p-26, unit, kQ26), 2);
  EXPECT_EQ(quantize(-2.5 * 0x1p-26, unit, kQ26), -2);
  EXPECT_EQ(quantize(-1.0, unit, kQ26), -(1 << 26));
  EXPECT_EQ(quantize(1.0, unit, kQ30), 1 << 30);
}

TEST(ToCosine, IsPlusZeroWithoutSharedColumns) {
  const float zero = to_cosine(0, inverse_one(kQ26));

  EXPECT_EQ(zero, 0.0f);
  EXPECT_FALSE(std::signbit(zero));
}

TEST(ToCosine, IsClampedToOneOnBothSides) {
  const std::int64_t one = kQ26.one();

  EXPECT_EQ(to_cosine(one, inverse_one(kQ26)), 1.0f);
  EXPECT_EQ(to_cosine(one + (one >> 20), inverse_one(kQ26)), 1.0f);
  EXPECT_EQ(to_cosine(-one - (one >> 20), inverse_one(kQ26)), -1.0f);
  EXPECT_EQ(to_cosine(kQ30.one(), inverse_one(kQ30)), 1.0f);
}

TEST(ToCosine, RoundsOnceAndToEven) {
  const std::int64_t half = std::int64_t{1} << 51;  // a cosine of 0.5, whose step is 2^-24
  const std::int64_t step = std::int64_t{1} << 28;

  EXPECT_EQ(to_cosine(half + step / 2, inverse_one(kQ26)), 0.5f);
  EXPECT_EQ(to_cosine(half + step / 2 + 1, inverse_one(kQ26)), 0.5f + 0x1p-24f);
  EXPECT_EQ(to_cosine(half + step + step / 2, inverse_one(kQ26)), 0.5f + 0x1p-23f);
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
