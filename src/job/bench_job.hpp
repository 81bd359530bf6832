#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

enum class BenchFormat { kText, kJson };

enum class BenchBackend { kCpu, kCuda };

struct KernelBenchOptions {
  std::string items;
  std::string queries;
  std::int64_t item_limit = 0;  ///< the first rows only; 0: all
  std::int64_t query_limit = 0;
  BenchBackend backend = BenchBackend::kCpu;
  int threads = 1;
  int repeats = 5;
  Simd simd = Simd::kBest;
  std::optional<double> softmax_scale;  ///< with it, the partials of the block sums are timed too
  BenchFormat format = BenchFormat::kText;
};

struct PairBenchOptions {
  std::string items;
  std::string queries;             ///< empty: the items among themselves
  std::optional<float> threshold;  ///< pairs with a cosine of at least this, or
  std::int64_t top_k = 0;          ///< the best items of each query
  int threads = 1;
  int repeats = 5;
  BenchFormat format = BenchFormat::kText;
};

/// Times each way of finding pairs on the CPU alone, and the choice between them, and prints the
/// medians: from quantized rows in memory to pairs that are counted. The ways take turns. Throws
/// Error (70) when they do not find the same number.
void run_pair_bench(FileCalls& calls, const PairBenchOptions& options, std::ostream& out);

/// Times a kernel alone on two matrices and prints its rates.
///
/// On the CPU: pairs and useful multiply-adds per second, the share of the limit that streaming
/// stores set on this machine, and the additional cost of hashing the tiles. With CUDA: the score
/// kernel on the device of this process, and the same product by a merge kernel and by cuSPARSE,
/// each result checked. Throws Error (70) when the kernel was wrong, and Error (69) without a
/// device.
void run_kernel_bench(FileCalls& calls, const KernelBenchOptions& options, std::ostream& out);

}  // namespace bulksim
