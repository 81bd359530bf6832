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
  std::optional<double> softmax_scale;  ///< if set, the softmax partials are timed too
};

/// Rates of the CPU kernel alone, without files: medians over the repeats, in pairs (cells of the
/// matrix) per second, of all threads together.
struct KernelRates {
  std::string simd;                 ///< "AVX3"
  std::int64_t multiply_adds = 0;   ///< useful ones: one per pair and shared column
  double build_seconds = 0.0;       ///< inverting all items; not part of any rate
  std::vector<double> pairs_per_s;  ///< of each repeat, with the row identity
  double median_pairs_per_s = 0.0;
  double summed_pairs_per_s = 0.0;       ///< also with the softmax partials; 0: not timed
  double hashed_pairs_per_s = 0.0;       ///< also with XXH3-128 of the results
  double store_limit_pairs_per_s = 0.0;  ///< streaming stores alone, 4 bytes per pair
  std::int64_t failed_identities = 0;
};

/// Computes all pairs `repeats` times into buffers that stay in the cache.
KernelRates benchmark_kernel(const QuantizedRows& queries, const QuantizedRows& items,
                             const KernelBenchmarkOptions& options);

}  // namespace bulksim
