#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "bulksim/core/host_device.hpp"
#include "bulksim/core/types.hpp"

// The arithmetic contract: this page defines every bit of the result.
//
//   canonical row     columns ascending, duplicates summed in float64, no zeros    canonicalize()
//   quantized row X   (a) a row of values m * 2^e with integers m and
//                         sum m*m <= 2^52: X = m, e as large as possible; exact integer_exponent()
//                     (b) any other row: X = round_half_even(x' / norm * 2^bits),
//                         x' = x * 2^-exponent, the exponent of the largest |x|,
//                         norm = sqrt(sum x'*x'), float64, ascending columns;
//                         entries with X = 0 are dropped                           quantize_row()
//   scale             cosine: r = 1 / sqrt(N), N = sum X*X
//                     dot: c = 2^e in case (a), norm * 2^exponent / sqrt(N)
//                         in case (b); 0 for an empty row                          quantize_row()
//   A(q,i)          = sum over shared columns of Q*I, an int64                     exact_sum()
//   score(q,i)      = float32(double(A) * (scale_q * scale_i)), +0.0 for 0;        to_score()
//                     a cosine is clamped to [-1, 1], which never acts
//
// By Cauchy-Schwarz every partial sum of A, over any columns in any order, is at most
// sqrt(N_q N_i) < 2^(2 bits + 1) in magnitude. In Q26 a sum is therefore exact in both int64 and
// float64, independent of the order of summation, the number of threads and the hardware; in Q30 it
// is exact in int64, and double(A) rounds it once. The product of the scales is formed first, so
// that (q,i) and (i,q) have the same bits. A cosine before its rounding to float32 is at most
// 1 + 7 * 2^-53 in magnitude, which rounds to 1: no code needs the clamp.
//
// The direction of X is what counts. Identical and proportional rows score exactly 1. Rows of case
// (a), such as sets, counts and short fractions, have the float32 nearest to the true score (unless
// the truth lies within 2^-50 of the midpoint of two floats, relative): scores that are equal in
// truth are equal in bits. Files that include this header are compiled without contraction to fma.
namespace bulksim {

/// Incremented when any bit of a result may change; part of every plan.
inline constexpr int kArithmeticVersion = 3;
/// Results of this version can be read and verified by their digests, but not recomputed: its
/// scores were not divided by the lengths of the quantized rows.
inline constexpr int kOldArithmeticVersion = 2;

/// What a score is. It determines the scale of a row and nothing else.
enum class Metric { kCosine, kDot };

/// Format of the quantized values of rows of case (b): their spacing is 2^-bits of the row's norm.
struct FixedPoint {
  int bits = 26;
  Metric metric = Metric::kCosine;

  bool operator==(const FixedPoint&) const = default;
};

inline constexpr FixedPoint kQ26{26};
inline constexpr FixedPoint kQ30{30};
inline constexpr FixedPoint kDotQ26{26, Metric::kDot};

/// The format of cosines; n is the most nonzeros of a row of case (b) on that side, or 0. In longer
/// rows Q26 would not keep the error within 1e-6. Dot products are always in Q26.
inline FixedPoint cosine_format(std::int64_t n_q, std::int64_t n_i) {
  const double roots = std::sqrt(static_cast<double>(n_q)) + std::sqrt(static_cast<double>(n_i));
  return roots > 130.0 ? kQ30 : kQ26;
}

/// Largest sum of squares of a row of case (a).
inline constexpr std::int64_t kMostSquares = std::int64_t{1} << 52;

/// Multiplies by 2^exponent like std::ldexp, as one product for nearly all exponents: both round
/// the exact x * 2^exponent once.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int exponent)
      : exponent_(exponent), is_normal_(kLeast <= exponent && exponent <= kLargest) {
    if (is_normal_) {
      factor_ = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kLargest) << 52);
    }
  }
  double operator()(double x) const { return is_normal_ ? x * factor_ : std::ldexp(x, exponent_); }

  static constexpr int kLargest = 1023;  ///< exponent of a float64, and its bias
  static constexpr int kLeast = -1022;   ///< of one that is not subnormal

 private:
  int exponent_;
  bool is_normal_;
  double factor_ = 0.0;
};

inline double times_power_of_two(double x, int exponent) {
  return PowerOfTwo(exponent)(x);
}

/// Adding this to |x| < 2^51 rounds x half to even: float64 has a spacing of 1 there. The low bits
/// of the sum are those of the integer.
inline constexpr double kStepsOfOne = 0x1.8p52;
inline double round_half_even(double x) {
  return x + kStepsOfOne - kStepsOfOne;
}
inline std::int32_t rounded_int32(double x) {
  return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(x + kStepsOfOne));
}

/// What the scale of a canonical row depends on.
struct RowSize {
  int exponent = 0;      ///< of the largest |x|, which is in [2^exponent, 2^(exponent + 1))
  double squares = 0.0;  ///< sum of x'*x', x' = x * 2^-exponent; 0 for an empty row
  /// If all values are integers times 2^(exponent - 26): the trailing zeros that these integers
  /// have in common. No other row is of case (a), whose integers are at most 2^26.
  std::optional<int> zeros;

  double norm() const { return std::sqrt(squares); }
  double length() const { return times_power_of_two(norm(), exponent); }
};

/// Exponent of the largest |x|; `values` are nonzero, and at least one.
inline int largest_exponent(std::span<const double> values) {
  std::uint32_t high = 0;  // half of the largest |x|: bit patterns have the order of the numbers
  for (const double value : values)
    high = std::max(
        high, static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value) >> 32) & 0x7FFFFFFF);
  const int biased = static_cast<int>(high >> 20);
  if (biased > 0) return biased - PowerOfTwo::kLargest;
  double largest = 0.0;
  for (const double value : values)
    largest = std::max(largest, std::fabs(value));
  return std::ilogb(largest);
}

/// Size of a row whose `values` are nonzero and in ascending order of columns.
inline RowSize row_size(std::span<const double> values) {
  if (values.empty()) return {};
  RowSize size;
  size.exponent = largest_exponent(values);
  const PowerOfTwo scaling(-size.exponent);
  std::uint64_t fractions = 0;
  std::uint64_t bits = 0;
  for (const double value : values) {
    const double scaled = scaling(value);
    size.squares += scaled * scaled;
    const double integer = scaled * 0x1p26;
    const double shifted = integer + kStepsOfOne;
    fractions |= std::bit_cast<std::uint64_t>(integer - (shifted - kStepsOfOne));
    bits |= std::bit_cast<std::uint64_t>(shifted);
  }
  if (fractions == 0) size.zeros = std::countr_zero(bits);
  return size;
}

/// e of a row of case (a), or nothing.
inline std::optional<int> integer_exponent(std::span<const double> values, const RowSize& size) {
  // in units of 2^e the squares are size.squares * 2^(2 (26 - zeros))
  constexpr double kUpTo = 1 + 0x1p-20;
  if (!size.zeros || size.squares > times_power_of_two(kUpTo, 2 * *size.zeros)) return std::nullopt;
  const int e = size.exponent - 26 + *size.zeros;
  std::int64_t squares = 0;
  for (const double value : values) {
    const auto m = static_cast<std::int64_t>(times_power_of_two(value, -e));
    squares += m * m;
    if (m == 0 || squares > kMostSquares) return std::nullopt;  // 0: far below the largest value
  }
  return e;
}

/// Quantizes the values of a canonical row into `to`, as many; some may become 0. Returns the scale
/// of the row.
inline double quantize_row(std::span<const double> values, FixedPoint format, std::int32_t* to) {
  if (values.empty()) return 0.0;
  const RowSize size = row_size(values);
  const std::optional<int> e = integer_exponent(values, size);
  const int exponent = e ? *e : size.exponent;
  const double norm = e ? 1.0 : size.norm();
  const double steps = e ? 1.0 : times_power_of_two(1.0, format.bits);
  const PowerOfTwo scaling(-exponent);
  std::int64_t squares = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    to[at] = rounded_int32(scaling(values[at]) / norm * steps);
    squares += std::int64_t{to[at]} * to[at];
  }
  const double root = std::sqrt(static_cast<double>(squares));
  if (format.metric == Metric::kCosine) return 1.0 / root;
  return e ? times_power_of_two(1.0, *e) : size.length() / root;
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

/// The definition of a score, given A and the scales of the rows. A product that underflows float32
/// is +0.0, whatever its sign.
BULKSIM_HOST_DEVICE float to_score(std::int64_t sum, double query_scale, double item_scale) {
  return static_cast<float>(static_cast<double>(sum) * (query_scale * item_scale)) + 0.0f;
}

/// Largest possible magnitude of a score.
inline float largest_score(Metric metric) {
  return metric == Metric::kCosine ? 1.0f : std::numeric_limits<float>::max();
}

/// Error bound of a cosine of rows of n_q and n_i nonzeros, 0 in place of n for rows of case (a).
///
/// Rounding moves each entry of a row of length 1 by at most 2^-(bits+1), so its direction v
/// differs from the true one, u, by a vector of length at most sqrt(n) 2^-(bits+1). Since v_q.v_i -
/// u_q.u_i = (v_q - u_q).v_i + u_q.(v_i - u_i), the two lengths add up, without a product of
/// errors. 2^-25 is the rounding to float32; the last summand covers the float64 operations and
/// that dividing by the length of X turns v by a second-order amount.
inline double cosine_bound(double n_q, double n_i, FixedPoint format) {
  return std::ldexp(std::sqrt(n_q) + std::sqrt(n_i), -format.bits - 1) + 0x1p-25 +
         (n_q + n_i + 16.0) * 0x1p-53;
}

/// The same for dot products of rows whose lengths are at most `longest_q` and `longest_i`: the
/// error of the cosine times the lengths, with a relative rounding to float32, the float64 norms,
/// and the underflow of c (2^-1075, times an X of length 2^27) and of float32.
inline double dot_bound(double n_q, double n_i, double longest_q, double longest_i,
                        FixedPoint format) {
  const double direction = std::ldexp(std::sqrt(n_q) + std::sqrt(n_i), -format.bits - 1);
  return longest_q * longest_i * (direction + 0x1p-24 + 2 * (n_q + n_i + 16.0) * 0x1p-53) +
         (longest_q + longest_i) * 0x1p-1048 + 0x1p-149;
}

}  // namespace bulksim
