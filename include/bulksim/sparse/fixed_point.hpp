#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "bulksim/core/host_device.hpp"
#include "bulksim/core/types.hpp"

// The arithmetic contract: this page defines every bit of the result.
//
//   canonical row     columns ascending, duplicates summed in float64, no zeros      canonicalize()
//   scaled row        x' = x * 2^-e, e = exponent of the row's largest |x|           (exact)
//   norm            = sqrt(sum x'*x'), float64, ascending columns, no fma            row_scale()
//   quantized value   X = round_half_even(x' / norm * 2^bits), int32; drop X = 0     quantize()
//   A(q,i)          = sum over shared columns of Q*I, int64                          exact_sum()
//   cosine(q,i)     = clamp(float32(A * 2^-2bits), -1, 1), the only rounding         to_cosine()
//   dot(q,i)        = float32((A * 2^-2bits) * (norm_q * norm_i)), float64 inside    to_dot()
//
// By Cauchy-Schwarz every partial sum of A, over any columns in any order, stays below 2^(2bits+1)
// in magnitude. In Q26 a sum is therefore exact in both int64 and float64, independent of the order
// of summation, the number of threads and the hardware; in Q30 it is exact in int64. Rows of
// integers can be their own quantized values, with bits = 0 and norms of 1, as long as the product
// of the largest norms is at most 2^53: their dot products are exact integers, rounded once. Files
// that include this header are compiled without contraction to fma.
namespace bulksim {

/// Incremented when any bit of a result may change; part of every plan.
inline constexpr int kArithmeticVersion = 2;

/// What a score is.
enum class Metric { kCosine, kDot };

/// Format of quantized values: their spacing is 2^-bits. The metric determines how sums become
/// scores.
struct FixedPoint {
  int bits = 26;
  Metric metric = Metric::kCosine;

  /// The sum that represents a cosine of 1.
  std::int64_t one() const { return std::int64_t{1} << (2 * bits); }
  bool operator==(const FixedPoint&) const = default;
};

inline constexpr FixedPoint kQ26{26};
inline constexpr FixedPoint kQ30{30};
inline constexpr FixedPoint kDotQ26{26, Metric::kDot};
/// For rows of integers, which are their own quantized values.
inline constexpr FixedPoint kDotIntegers{0, Metric::kDot};

/// When rows on both sides have more nonzeros than this, only Q30 keeps the error within 1e-6.
inline constexpr std::int64_t kQ26Nonzeros = 4000;

/// Scale by which the values of one row are quantized.
struct RowScale {
  int exponent = 0;   ///< e: the largest |x| is in [2^e, 2^(e+1))
  double norm = 0.0;  ///< of the scaled row x * 2^-e; 0 for an empty row
};

/// std::ldexp, as one product for nearly all exponents: both round the exact x * 2^exponent once.
inline double times_power_of_two(double x, int exponent) {
  constexpr int kBias = 1023;
  if (exponent <= -kBias || exponent > kBias) return std::ldexp(x, exponent);
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kBias) << 52);
}

/// Scale of a canonical row; `values` are nonzero and in ascending order of columns.
inline RowScale row_scale(std::span<const double> values) {
  std::int64_t bits = 0;  // of the largest |x|: bit patterns have the order of the numbers
  for (const double value : values)
    bits = std::max(bits, std::bit_cast<std::int64_t>(std::fabs(value)));
  if (bits == 0) return {};
  const int exponent = std::ilogb(std::bit_cast<double>(bits));
  double squares = 0.0;
  for (const double value : values) {
    const double scaled = times_power_of_two(value, -exponent);
    squares += scaled * scaled;
  }
  return {exponent, std::sqrt(squares)};
}

/// Quantized value of one entry. Adding 1.5 * 2^52, where float64 has a spacing of 1, rounds half
/// to even.
inline std::int32_t quantize(double value, const RowScale& scale, FixedPoint format) {
  constexpr double kStepsOfOne = 0x1.8p52;
  const double unit = times_power_of_two(value, -scale.exponent) / scale.norm;
  return static_cast<std::int32_t>(times_power_of_two(unit, format.bits) + kStepsOfOne -
                                   kStepsOfOne);
}

/// Cosine of an exact sum. The conversion to float32 is the only rounding; the product with a power
/// of two is exact. A sum of 0 gives +0.0.
BULKSIM_HOST_DEVICE float to_cosine(std::int64_t sum, float inverse_one) {
  const float cosine = static_cast<float>(sum) * inverse_one;
  return cosine > 1.0f ? 1.0f : cosine < -1.0f ? -1.0f : cosine;
}

/// Dot product of two rows in a format with metric kDot. A sum below 2^53 is exact in float64. A
/// result that underflows float32 is +0.0, whatever its sign.
BULKSIM_HOST_DEVICE float to_dot(std::int64_t sum, double inverse_one, double norms) {
  return static_cast<float>(static_cast<double>(sum) * inverse_one * norms) + 0.0f;
}

/// 2^(-2 bits), exact in float32.
inline float inverse_one(FixedPoint format) {
  return static_cast<float>(times_power_of_two(1.0, -2 * format.bits));
}

/// The definition of A(q,i): a merge of two quantized rows. Used as reference and for sampled
/// checks.
inline std::int64_t exact_sum(std::span<const Column> q_columns, std::span<const std::int32_t> q,
                              std::span<const Column> i_columns, std::span<const std::int32_t> i) {
  std::int64_t sum = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < q_columns.size() && b < i_columns.size()) {
    if (q_columns[a] == i_columns[b]) {
      sum += std::int64_t{q[a++]} * i[b++];
    } else if (q_columns[a] < i_columns[b]) {
      ++a;
    } else {
      ++b;
    }
  }
  return sum;
}

/// Largest possible magnitude of a score.
inline float largest_score(FixedPoint format) {
  return format.metric == Metric::kCosine ? 1.0f : std::numeric_limits<float>::max();
}

/// Error bound of a cosine for rows of n_q and n_i nonzeros that share `shared` columns.
///
/// Each quantized value is off by at most 2^-(bits+1). By Cauchy-Schwarz the sum over the shared
/// columns of |q| + |i| is at most 2 sqrt(shared), and rounding to float32 adds at most 2^-25. The
/// last summand is of second order: products of two errors, and the float64 norms.
inline double cosine_bound(double shared, double n_q, double n_i, FixedPoint format) {
  return std::ldexp(std::sqrt(shared), -format.bits) + 0x1p-25 +
         (shared + n_q + n_i + 8.0) * 0x1p-53;
}

/// The same for the dot product of rows whose norms have a product of at most `norms`: the error of
/// the cosine times `norms`, with a relative rounding error and the errors of the norms. Integers
/// are exact in float32 up to 2^24.
inline double dot_bound(double shared, double n_q, double n_i, double norms, FixedPoint format) {
  if (format == kDotIntegers) return norms <= 0x1p24 ? 0.0 : norms * 0x1p-24;
  const double cosine = std::ldexp(std::sqrt(shared), -format.bits);
  return norms * (cosine + 0x1p-24 + (shared + 2 * n_q + 2 * n_i + 16.0) * 0x1p-53) + 0x1p-149;
}

}  // namespace bulksim
