#include "job/plan/error_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

constexpr double kPromisedError = 1e-6;

/// By Cauchy-Schwarz no sum of any products of two rows is larger than the product of their norms.
FixedPoint choose_dot_arithmetic(const Surveys& surveys) {
  constexpr double kMostFloat = std::numeric_limits<float>::max();
  const double largest = largest_product(surveys);
  const bool integers = surveys.queries.values.integers && surveys.items.values.integers;
  const double most = integers ? 0x1p53 : kMostFloat;
  if (largest <= most * (1 - 0x1p-40)) return integers ? kDotIntegers : kDotQ26;
  throw Error(ExitCode::kDataError,
              formatted("dot products may reach %.4g, over %s: scale the values down", largest,
                        integers ? "2^53, up to which integers are exact" : "the largest float32"));
}

}  // namespace

FixedPoint choose_arithmetic(const Surveys& surveys, Metric metric) {
  if (metric == Metric::kDot) return choose_dot_arithmetic(surveys);
  const std::int64_t shared = std::min(surveys.queries.longest_row, surveys.items.longest_row);
  const FixedPoint arithmetic = shared > kQ26Nonzeros ? kQ30 : kQ26;
  const double bound = proven_bound(surveys, arithmetic);
  if (bound > kPromisedError) {
    throw Error(ExitCode::kDataError,
                formatted("rows of %ld nonzeros on both sides are too long: the proven error "
                          "would be %.2g, over 1e-6",
                          shared, bound));
  }
  return arithmetic;
}

double largest_product(const Surveys& surveys) {
  return surveys.queries.values.longest * surveys.items.values.longest;
}

double proven_bound(const Surveys& surveys, FixedPoint arithmetic) {
  const auto n_q = static_cast<double>(surveys.queries.longest_row);
  const auto n_i = static_cast<double>(surveys.items.longest_row);
  const double shared = std::min(n_q, n_i);
  return arithmetic.metric == Metric::kCosine
             ? cosine_bound(shared, n_q, n_i, arithmetic)
             : dot_bound(shared, n_q, n_i, largest_product(surveys), arithmetic);
}

double half_bound(double largest) {
  constexpr double kMostHalf = 65504.0;
  if (largest <= 1.0) return 0x1p-12;
  if (largest <= kMostHalf) return largest * 0x1p-11;
  throw Error(
      ExitCode::kDataError,
      formatted(
          "dot products may reach %.4g, and a float16 holds at most 65504: use --dtype float32",
          largest));
}

std::string error_text(double bound) {
  return formatted("%.2g", bound);
}

}  // namespace bulksim
