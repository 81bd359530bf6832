#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace bulksim {

/// Whether a finite float32 is exactly representable as float16.
inline bool fits_half(float value) {
  const float size = std::fabs(value);
  if (size >= 0x1p-14f) {  // normal: 10 bits of fraction
    return size <= 65504.0f && (std::bit_cast<std::uint32_t>(size) & 0x1FFF) == 0;
  }
  const float steps = size * 0x1p24f;  // subnormal: a multiple of 2^-24
  return steps == std::trunc(steps);
}

/// The nearest float16, ties to even; values that are too large become infinite. Branch-free, for
/// vectorized loops.
inline std::uint16_t round_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7FFFFFFF;
  // 13 bits are dropped, and the exponent bias changes
  const std::uint32_t normal = (size + 0xFFF + (size >> 13 & 1) - ((127 - 15) << 23)) >> 13;
  // adding 1/2 gives a spacing of 2^-24, that of subnormals
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3F000000;
  const std::uint32_t is_small = -std::uint32_t{size < 0x38800000};
  const std::uint32_t is_large = -std::uint32_t{size >= 0x47800000};
  const std::uint32_t is_nan = -std::uint32_t{size > 0x7F800000};
  const std::uint32_t finite = (subnormal & is_small) | (normal & ~is_small);
  const std::uint32_t large = 0x7C00 | (size >> 13 & 0x3FF & is_nan);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (large & is_large) |
                                    (finite & ~is_large));
}

/// Whether a float16 is infinite or NaN.
inline bool is_special_half(std::uint16_t half) {
  return (half & 0x7C00) == 0x7C00;
}

/// The value of a finite float16. The product changes the exponent bias and normalizes subnormals,
/// both exactly.
inline float from_half(std::uint16_t half) {
  const float size = std::bit_cast<float>((half & 0x7FFFu) << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | (half & 0x8000u) << 16);
}

/// The value of any float16; NaN keeps its payload. Branch-free.
inline float widen_half(std::uint16_t half) {
  const std::uint32_t is_special = -std::uint32_t{is_special_half(half)};
  const std::uint32_t special = 0x7F800000u | (half & 0x3FFu) << 13 | (half & 0x8000u) << 16;
  const std::uint32_t number = std::bit_cast<std::uint32_t>(from_half(half));
  return std::bit_cast<float>((special & is_special) | (number & ~is_special));
}

}  // namespace bulksim
