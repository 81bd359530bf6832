#pragma once

#include <string>

#include "bulksim/sparse/fixed_point.hpp"
#include "job/input/survey.hpp"

namespace bulksim {

/// The arithmetic of a run. Throws Error (65) when rows are too long for a proven 1e-6, or dot
/// products too large.
FixedPoint choose_arithmetic(const Surveys& surveys, Metric metric);

/// The largest error of a score, as proven in fixed_point.hpp, for the longest rows of both sides
/// that are rounded; 0 for dot products that float32 holds exactly.
double proven_bound(const Surveys& surveys, FixedPoint arithmetic);

/// The product of the largest lengths: by Cauchy-Schwarz no dot product is larger.
double largest_product(const Surveys& surveys);

/// The error that storing a score of at most `largest` as a float16 adds. Throws Error (65) when it
/// may not fit.
double half_bound(double largest);

/// A bound with two digits, for messages.
std::string error_text(double bound);

}  // namespace bulksim
