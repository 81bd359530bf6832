#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

struct KernelBenchmarkOptions {
  FixedPoint arithmetic;
  int threads = 1;
  int repeats = 5;
  Simd simd = Simd::kBest;
  std::optional<double> softmax_scale;  ///< with it, the partials of the block sums are timed too
};

/// What the CPU kernel alone does, without any file. Rates are medians over the repeats, in pairs
/// (cells of the matrix) a second, of all threads together.
struct KernelRates {
  std::string simd;                 ///< "AVX3"
  std::int64_t multiply_adds = 0;   ///< useful ones: one a pair and shared column
  double build_seconds = 0.0;       ///< inverting all items; not part of any rate
  std::vector<double> pairs_per_s;  ///< of each repeat, with the row identity
  double median_pairs_per_s = 0.0;
  double summed_pairs_per_s = 0.0;  ///< with the partials of the block sums on top; 0: not timed
  double hashed_pairs_per_s = 0.0;  ///< with XXH3-128 of the results on top
  double store_limit_pairs_per_s = 0.0;  ///< streaming stores of 4 bytes a pair, nothing else
  std::int64_t failed_identities = 0;
};

/// Computes all pairs `repeats` times into buffers that stay in the cache.
KernelRates benchmark_kernel(const QuantizedRows& queries, const QuantizedRows& items,
                             const KernelBenchmarkOptions& options);

}  // namespace bulksim
