#pragma once

#include <iosfwd>

#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "job/bench_job.hpp"

namespace bulksim {

/// Prints the rates of the score kernel and the baselines, and its speedup over each baseline with
/// a right result. Throws Error (70) when the score kernel was wrong.
void print_cuda_rates(const CudaKernelRates& rates, BenchFormat format, std::ostream& out);

}  // namespace bulksim
