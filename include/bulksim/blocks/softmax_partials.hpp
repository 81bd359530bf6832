#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "bulksim/core/host_device.hpp"

// Softmax partials in integers: the same bits on host and device, for any order of summation.
//
//   c(q,i)         the float32 cosine, bit for bit as in the tile
//   m = max c      over the items of one fine block
//   L = sum of rint(2^30 * e(c - m)) over these items, an int64, where e(x) = exp(s x)
//
// s is the softmax scale. m and L can be recomputed from the tile and compared bit for bit. Each
// fused multiply-add is explicit; no other operation may be contracted.
namespace bulksim {

/// m and L of one query row and one fine block.
struct SoftmaxPartial {
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();  ///< rint(2^60 m)
  std::int64_t sum = 0;  ///< L; 0 for an empty row, and past the edge of the matrix

  bool operator==(const SoftmaxPartial&) const = default;
};

inline constexpr double kLeastSoftmaxScale = 1e-3;
inline constexpr double kMostSoftmaxScale = 1e3;

/// e(x) = 2^(per_cosine * x).
struct ExpScale {
  float per_cosine = 0.0f;  ///< s * log2(e), rounded once; partials and sums use the same value
  float reach = 0.0f;       ///< e(-reach) = 2^-40, which rounds to a weight of 0
};

inline ExpScale exp_scale(double softmax_scale) {
  const auto per_cosine = static_cast<float>(softmax_scale / std::log(2.0));
  return {per_cosine, 40.0f / per_cosine};
}

// 2^x = 1 + kExp2C1 x + .. + kExp2C5 x^5 for |x| <= 1/2, relative error 1.1e-7.
inline constexpr float kExp2C1 = 0x1.62e42ap-1f;
inline constexpr float kExp2C2 = 0x1.ebf9bcp-3f;
inline constexpr float kExp2C3 = 0x1.c6b752p-5f;
inline constexpr float kExp2C4 = 0x1.3cea88p-7f;
inline constexpr float kExp2C5 = 0x1.5bba14p-10f;

/// c0 + c1 x + .. + c5 x^5 by Horner's rule.
BULKSIM_HOST_DEVICE float polynomial(float x, float c0, float c1, float c2, float c3, float c4,
                                     float c5) {
  float sum = fmaf(c5, x, c4);
  sum = fmaf(sum, x, c3);
  sum = fmaf(sum, x, c2);
  sum = fmaf(sum, x, c1);
  return fmaf(sum, x, c0);
}

BULKSIM_HOST_DEVICE float short_exp2(float x) {
  return polynomial(x, 1.0f, kExp2C1, kExp2C2, kExp2C3, kExp2C4, kExp2C5);
}

/// Fractional bits of a partial.
inline constexpr int kPartialBits = 30;
/// 1.5 * 2^23, where the spacing of float32 is 1: adding it rounds to a whole number.
inline constexpr float kRounder = 12582912.0f;

/// The values that all weights of one row and block share:
///
///   2^30 e(c - m) = 2^n * 2^r * factor,   n + r = c * per_cosine + shift, n whole, |r| <= 1/2
struct BlockExp {
  float per_cosine;
  float least;  ///< smaller cosines are clamped to it; their weight is 0
  float shift;  ///< a whole number; includes kRounder
  float c0;     ///< the factor, in [2^-1/2, 2^1/2]
  float c1;     ///< kExp2C1 times the factor; c2 to c5 likewise
  float c2;
  float c3;
  float c4;
  float c5;
};

BULKSIM_HOST_DEVICE BlockExp block_exp(float largest, ExpScale scale) {
  const float whole = rintf(largest * scale.per_cosine);
  const float factor = short_exp2(fmaf(-largest, scale.per_cosine, whole));
  return {scale.per_cosine, largest - scale.reach, kRounder + (kPartialBits - whole),
          factor,           factor * kExp2C1,      factor * kExp2C2,
          factor * kExp2C3, factor * kExp2C4,      factor * kExp2C5};
}

/// rint(2^30 * e(c - m)). The relative error is at most 1e-6 where e(c - m) >= 2^-10; below that,
/// the absolute error of e(c - m) is at most 2e-9.
BULKSIM_HOST_DEVICE std::int32_t exp_weight(float cosine, const BlockExp& block) {
  const float c = cosine < block.least ? block.least : cosine;
  const float rounded = fmaf(c, block.per_cosine, block.shift);
  const float r = fmaf(c, block.per_cosine, -(rounded - block.shift));
  float power = polynomial(r, block.c0, block.c1, block.c2, block.c3, block.c4, block.c5);
  std::uint32_t bits = 0;
  std::uint32_t exponent = 0;  // n in its lowest bits
  std::memcpy(&bits, &power, sizeof bits);
  std::memcpy(&exponent, &rounded, sizeof exponent);
  bits += exponent << 23;
  std::memcpy(&power, &bits, sizeof bits);
  return static_cast<std::int32_t>(rintf(power));
}

/// Spacing of the largest cosines of partials.
inline constexpr double kLargestStep = 0x1p-60;

/// A largest cosine as an integer: rint(2^60 m).
BULKSIM_HOST_DEVICE std::int64_t partial_largest(float cosine) {
  return static_cast<std::int64_t>(rint(static_cast<double>(cosine) / kLargestStep));
}

/// The definition of m and L, for `cosines` and `zeros` more items with cosine 0; at least one item
/// in total.
inline SoftmaxPartial softmax_partial(std::span<const float> cosines, std::int64_t zeros,
                                      ExpScale scale) {
  float largest = zeros > 0 ? 0.0f : cosines.front();
  for (const float cosine : cosines)
    largest = std::max(largest, cosine);
  const BlockExp block = block_exp(largest, scale);
  std::int64_t sum = zeros * exp_weight(0.0f, block);
  for (const float cosine : cosines)
    sum += exp_weight(cosine, block);
  return {partial_largest(largest), sum};
}

/// exp(s d) in float64 for the difference d <= 0 of two largest cosines, in steps of 2^-60:
/// relative error 1e-13, and 0 below 2^-1000.
inline double exp_ratio(std::int64_t distance, ExpScale scale) {
  // ln(2)^k / k!; the next coefficient would add at most 7e-15
  constexpr double kTaylor[] = {
      1.0,
      0x1.62e42fefa39efp-1,
      0x1.ebfbdff82c58ep-3,
      0x1.c6b08d704a0bfp-5,
      0x1.3b2ab6fba4e77p-7,
      0x1.5d87fe78a6730p-10,
      0x1.430912f86c786p-13,
      0x1.ffcbfc588b0c5p-17,
      0x1.62c0223a5c822p-20,
      0x1.b5253d395e7c1p-24,
      0x1.e4cf5158b8ec7p-28,
      0x1.e8cac7351bb22p-32,
  };
  const double per_unit = static_cast<double>(scale.per_cosine) * kLargestStep;
  const auto d = static_cast<double>(distance);
  const double exponent = d * per_unit;
  if (exponent < -1000.0) return 0.0;
  const double whole = std::nearbyint(exponent);
  const double rest = std::fma(d, per_unit, -whole);
  double power = 0.0;
  for (auto k = std::size(kTaylor); k-- > 0;)
    power = std::fma(power, rest, kTaylor[k]);
  return std::ldexp(power, static_cast<int>(whole));
}

}  // namespace bulksim
