#include "core/half.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace bulksim {
namespace {

constexpr std::uint32_t kHalves = 0x10000;

TEST(Half, EveryFloat16ComesBackFromFloat32) {
  std::int64_t wrong = 0;
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    wrong += round_to_half(widen_half(static_cast<std::uint16_t>(half))) != half;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  std::int64_t wrong = 0;
  for (std::uint32_t low = 0; low < 0x7BFF; ++low) {  // up to the largest finite value
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle =
        (widen_half(static_cast<std::uint16_t>(low)) + widen_half(high)) / 2;  // exact
    const std::uint32_t even = low % 2 == 0 ? low : high;
    wrong += round_to_half(middle) != even;
    wrong += round_to_half(std::nextafter(middle, 0.0f)) != low;
    wrong += round_to_half(std::nextafter(middle, 1e9f)) != high;
    wrong += round_to_half(-middle) != (even | 0x8000);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Half, LargeValuesBecomeInfiniteAndNanStaysNan) {
  EXPECT_EQ(round_to_half(65519.9f), 0x7BFF);
  EXPECT_EQ(round_to_half(65520.0f), 0x7C00);
  EXPECT_EQ(round_to_half(-3e38f), 0xFC00);
  EXPECT_EQ(round_to_half(1e-8f), 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(widen_half(round_to_half(nan))),
            std::bit_cast<std::uint32_t>(nan));
}

}  // namespace
}  // namespace bulksim
