#include "bulksim/blocks/softmax_partials.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {
namespace {

class ExpWeightTest : public testing::TestWithParam<double> {};

INSTANTIATE_TEST_SUITE_P(Scales, ExpWeightTest, testing::Values(1.0, 20.0, 100.0));

TEST_P(ExpWeightTest, StaysWithinItsStatedError) {
  const ExpScale scale = exp_scale(GetParam());
  const double per_cosine = static_cast<double>(scale.per_cosine);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> cosine(-1.0f, 1.0f);
  double relative = 0.0;
  double absolute = 0.0;

  for (int i = 0; i < 200000; ++i) {
    const float a = cosine(random);
    const float b = cosine(random) * std::ldexp(1.0f, -(i % 12));
    const float largest = std::max(a, b);
    const double exact = std::exp2(
        per_cosine * (static_cast<double>(std::min(a, b)) - static_cast<double>(largest)));
    const double found =
        std::ldexp(static_cast<double>(exp_weight(std::min(a, b), block_exp(largest, scale))), -30);
    if (exact >= 0x1p-10) relative = std::max(relative, std::fabs(found / exact - 1.0));
    if (exact < 0x1p-10) absolute = std::max(absolute, std::fabs(found - exact));
  }

  EXPECT_LT(relative, 1e-6);
  EXPECT_LT(absolute, 2e-9);
}

TEST_P(ExpWeightTest, IsOneForTheLargestAndZeroFarBelow) {
  const ExpScale scale = exp_scale(GetParam());

  for (const float largest : {-1.0f, -0.3f, 0.0f, 1e-6f, 0.123f, 1.0f}) {
    const BlockExp block = block_exp(largest, scale);
    EXPECT_NEAR(std::ldexp(exp_weight(largest, block), -30), 1.0, 1e-6);
    EXPECT_EQ(exp_weight(largest - scale.reach, block), 0);
    EXPECT_EQ(exp_weight(-1e6f, block), 0);
  }
}

TEST(SoftmaxPartial, CountsItemsThatShareNoColumn) {
  const ExpScale scale = exp_scale(20.0);

  const SoftmaxPartial some = softmax_partial(std::vector{0.25f, 0.0f, 0.0f}, 0, scale);
  const SoftmaxPartial same = softmax_partial(std::vector{0.25f}, 2, scale);
  const SoftmaxPartial none = softmax_partial({}, 3, scale);

  EXPECT_EQ(some, same);
  EXPECT_EQ(some.largest, std::int64_t{1} << 58);
  EXPECT_EQ(none, (SoftmaxPartial{0, std::int64_t{3} << 30}));
}

TEST(SoftmaxPartial, TheLargestIsInStepsOfTwoToTheMinusSixty) {
  const auto largest = [](float cosine) {
    return softmax_partial(std::vector{cosine}, 0, exp_scale(20.0)).largest;
  };

  EXPECT_EQ(largest(1.0f), std::int64_t{1} << 60);
  EXPECT_EQ(largest(-1.0f), -(std::int64_t{1} << 60));
  EXPECT_EQ(largest(0x1.fffffep-1f), (std::int64_t{1} << 60) - (std::int64_t{1} << 36));
  EXPECT_EQ(largest(0x1.000002p-37f), (std::int64_t{1} << 23) + 1);
  EXPECT_EQ(largest(0x1p-60f), 1);
  EXPECT_EQ(largest(0x1p-61f), 0);    // halves
  EXPECT_EQ(largest(0x1.8p-60f), 2);  // to even
  EXPECT_EQ(largest(-0x1.8p-60f), -2);
  EXPECT_EQ(largest(0x1p-149f), 0);
  EXPECT_EQ(largest(0.0f), 0);
}

TEST_P(ExpWeightTest, RatioOfSumsIsThatOfTheExponential) {
  const ExpScale scale = exp_scale(GetParam());
  std::mt19937_64 random(2);

  for (int i = 0; i < 20000; ++i) {
    const auto distance =
        -static_cast<std::int64_t>(random() >> (3 + i % 40));  // to -2^61, two cosines apart
    const double exact = std::exp2(static_cast<double>(scale.per_cosine) *
                                   std::ldexp(static_cast<double>(distance), -60));
    EXPECT_NEAR(exp_ratio(distance, scale) / exact, 1.0, 1e-12);
  }

  EXPECT_EQ(exp_ratio(0, scale), 1.0);
  EXPECT_EQ(exp_ratio(-(std::int64_t{1} << 61), exp_scale(400.0)), 0.0);
}

}  // namespace
}  // namespace bulksim
