#include "job/plan/error_bound.hpp"

#include <cmath>
#include <limits>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

constexpr double kPromisedError = 1e-6;

/// By Cauchy-Schwarz no dot product is larger than the product of the lengths of its rows.
void check_dot_products(const Surveys& surveys) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double largest = largest_product(surveys);
  if (largest <= kMost * (1 - 0x1p-20)) return;
  throw Error(ExitCode::kDataError,
              formatted("dot products may reach %.4g, over the largest float32: scale the values "
                        "down",
                        largest));
}

/// Whether every dot product is an integer of at most 2^24 times one power of two: exact in
/// float32.
bool are_dots_exact(const Surveys& surveys) {
  const InputSurvey& queries = surveys.queries;
  const InputSurvey& items = surveys.items;
  if (queries.values.rounding.longest_rounded_row + items.values.rounding.longest_rounded_row > 0)
    return false;
  const double largest = largest_product(surveys);
  return largest == 0.0 || std::ldexp(std::ldexp(largest, -queries.values.least_exponent),
                                      -items.values.least_exponent) <= 0x1p24;
}

}  // namespace

FixedPoint choose_arithmetic(const Surveys& surveys, Metric metric) {
  if (metric == Metric::kDot) {
    check_dot_products(surveys);
    return kDotQ26;
  }
  const std::int64_t n_q = surveys.queries.values.rounding.longest_rounded_row;
  const std::int64_t n_i = surveys.items.values.rounding.longest_rounded_row;
  const FixedPoint arithmetic = cosine_format(n_q, n_i);
  const double bound = proven_bound(surveys, arithmetic);
  if (bound > kPromisedError) {
    throw Error(ExitCode::kDataError,
                formatted("rows of %ld and %ld nonzeros are too long: the proven error would be "
                          "%.2g, over 1e-6",
                          n_q, n_i, bound));
  }
  return arithmetic;
}

double largest_product(const Surveys& surveys) {
  return surveys.queries.values.longest * surveys.items.values.longest;
}

double proven_bound(const Surveys& surveys, FixedPoint arithmetic) {
  const auto n_q = static_cast<double>(surveys.queries.values.rounding.longest_rounded_row);
  const auto n_i = static_cast<double>(surveys.items.values.rounding.longest_rounded_row);
  if (arithmetic.metric == Metric::kCosine) return cosine_bound(n_q, n_i, arithmetic);
  if (are_dots_exact(surveys)) return 0.0;
  return dot_bound(n_q, n_i, surveys.queries.values.longest, surveys.items.values.longest,
                   arithmetic);
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
