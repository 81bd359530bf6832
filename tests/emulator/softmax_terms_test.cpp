#include "bulksim/blocks/softmax_terms.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace bulksim {
namespace {

class ExpTermTest : public testing::TestWithParam<double> {};

INSTANTIATE_TEST_SUITE_P(Scales, ExpTermTest, testing::Values(1.0, 20.0, 100.0));

TEST_P(ExpTermTest, StaysWithinItsStatedError) {
  const ExpScale scale = exp_scale(GetParam(), 26);
  std::mt19937_64 random(1);
  double relative = 0.0;
  double absolute = 0.0;

  for (int i = 0; i < 200000; ++i) {
    const auto difference = -static_cast<std::int64_t>(random() >> (11 + i % 40));  // to -2^53
    const double exact = std::exp(GetParam() * std::ldexp(static_cast<double>(difference), -52));
    const double found = std::ldexp(static_cast<double>(exp_term(difference, scale)), -30);
    if (exact >= 0x1p-10) relative = std::max(relative, std::fabs(found / exact - 1.0));
    if (exact < 0x1p-10) absolute = std::max(absolute, std::fabs(found - exact));
  }

  EXPECT_LT(relative, 2e-6);
  EXPECT_LT(absolute, 2e-9);
}

TEST_P(ExpTermTest, IsOneForTheLargestAndNothingFarBelow) {
  const ExpScale scale = exp_scale(GetParam(), 26);

  EXPECT_EQ(exp_term(0, scale), 1 << 30);
  EXPECT_EQ(exp_term(-(std::int64_t{1} << 58), scale), 0);
}

}  // namespace
}  // namespace bulksim
