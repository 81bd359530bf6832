#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cuda/cuda_backend.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// The module with the kernels and their baselines.
inline constexpr char kCudaBenchModule[] = "libbulksim_cuda_bench.so";

struct CudaBenchmarkOptions {
  int repeats = 5;
  std::int64_t baseline_queries = 1024;   ///< the baselines use this many of the first queries
  std::int64_t baseline_items = 131'072;  ///< and this many of the first items, far below 2^20 rows
  std::string module = kCudaBenchModule;
};

/// One method of computing the scores.
struct CudaContender {
  std::string name;
  std::int64_t queries = 0;
  std::int64_t items = 0;
  std::vector<double> seconds = {};  ///< of each repeat
  double pairs_per_s = 0.0;          ///< of the median
  double largest_error = 0.0;        ///< against the exact cosine, over sampled cells
  std::string left_out = {};         ///< why it was not run; empty when it was

  /// The rate of a wrong result is meaningless.
  bool is_right() const { return left_out.empty() && largest_error < 1e-5; }
};

/// Rates of the score kernel on the device of this process and of its alternatives, measured in the
/// same run on the same rows.
struct CudaKernelRates {
  std::string device;
  double download_rate = 0.0;      ///< bytes per second to the host
  std::int64_t multiply_adds = 0;  ///< useful ones of the score kernel: one per pair and column
  double build_seconds = 0.0;      ///< inverting the items; not part of any rate
  std::int64_t failed_identities = 0;
  std::vector<CudaContender> contenders;  ///< the score kernel first, then the baselines
};

/// Computes all pairs of `queries` and the first 262,144 of `items` on the device. Throws like
/// `make_cuda_backend`.
CudaKernelRates benchmark_cuda_kernel(const QuantizedRows& queries, const QuantizedRows& items,
                                      const CudaBenchmarkOptions& options);

}  // namespace bulksim
