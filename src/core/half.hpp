#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace bulksim {

/// Whether a finite float32 is also a float16.
inline bool fits_half(float value) {
  const float size = std::fabs(value);
  if (size >= 0x1p-14f) {  // normal: 10 bits of fraction
    return size <= 65504.0f && (std::bit_cast<std::uint32_t>(size) & 0x1FFF) == 0;
  }
  const float steps = size * 0x1p24f;  // subnormal: a multiple of 2^-24
  return steps == std::trunc(steps);
}

/// The nearest float16 of any float32, ties to even; what is too large becomes infinite. Without
/// branches, for loops over many.
inline std::uint16_t round_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7FFFFFFF;
  // 13 bits go, and the exponent gets its other bias
  const std::uint32_t normal = (size + 0xFFF + (size >> 13 & 1) - ((127 - 15) << 23)) >> 13;
  // a sum with 1/2 has steps of 2^-24, as subnormals have
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

/// Infinities and numbers that are none.
inline bool is_special_half(std::uint16_t half) {
  return (half & 0x7C00) == 0x7C00;
}

/// The value of a float16 that is not special. The product gives the exponent its other bias and
/// makes subnormals normal, both exactly.
inline float from_half(std::uint16_t half) {
  const float size = std::bit_cast<float>((half & 0x7FFFu) << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | (half & 0x8000u) << 16);
}

/// The value of any float16; what is no number keeps its bits. Without branches, too.
inline float widen_half(std::uint16_t half) {
  const std::uint32_t is_special = -std::uint32_t{is_special_half(half)};
  const std::uint32_t special = 0x7F800000u | (half & 0x3FFu) << 13 | (half & 0x8000u) << 16;
  const std::uint32_t number = std::bit_cast<std::uint32_t>(from_half(half));
  return std::bit_cast<float>((special & is_special) | (number & ~is_special));
}

}  // namespace bulksim
