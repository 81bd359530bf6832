#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "bulksim/core/host_device.hpp"

// The terms of the softmax, in integers: the same bits on host and device.
//
//   e(d) = exp(s * d * 2^-2bits) for d = A - m <= 0, the distance of an exact sum to the largest
//   term = rint(2^30 * e(d)), an int32; sums of terms are exact in int64
//
// s is the softmax scale. Every fused multiply-add is written out, nothing else may be contracted.
namespace bulksim {

/// s * log2(e) * 2^-2bits as the sum of two floats, so that its product with d keeps its bits.
struct ExpScale {
  float high = 0.0f;
  float low = 0.0f;
};

inline ExpScale exp_scale(double softmax_scale, int grid_bits) {
  const double exact = std::ldexp(softmax_scale / std::log(2.0), -2 * grid_bits);
  const auto high = static_cast<float>(exact);
  return {high, static_cast<float>(exact - static_cast<double>(high))};
}

/// rint(2^30 * e(d)) for d <= 0. Relative error at most 2e-6 where e(d) >= 2^-10, absolute error of
/// e(d) at most 2e-9 below; 0 from e(d) = 2^-31.5 on, where rounding gives 0 anyway.
BULKSIM_HOST_DEVICE std::int32_t exp_term(std::int64_t difference, ExpScale scale) {
  const auto d = static_cast<float>(difference);
  const float exponent = d * scale.high;
  if (exponent < -31.5f) return 0;
  const float whole = rintf(exponent);
  const float rest = fmaf(d, scale.low, fmaf(d, scale.high, -whole));  // in [-1/2, 1/2]
  // 2^rest, relative error 1.6e-8; the constant is 1, so that e(0) is 1
  float power = 0x1.41fbbcp-13f;
  power = fmaf(power, rest, 0x1.5f3e52p-10f);
  power = fmaf(power, rest, 0x1.3b2d4cp-7f);
  power = fmaf(power, rest, 0x1.c6aee8p-5f);
  power = fmaf(power, rest, 0x1.ebfbdcp-3f);
  power = fmaf(power, rest, 0x1.62e430p-1f);
  power = fmaf(power, rest, 1.0f);
  const std::int32_t bits = (static_cast<std::int32_t>(whole) + 30 + 127) << 23;
  float scaling = 0.0f;  // 2^(whole + 30)
  std::memcpy(&scaling, &bits, sizeof bits);
  return static_cast<std::int32_t>(rintf(power * scaling));
}

}  // namespace bulksim
