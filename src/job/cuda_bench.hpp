#pragma once

#include <iosfwd>

#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "job/bench_job.hpp"

namespace bulksim {

/// Prints what the score kernel and the baselines have done, and how many times as fast it is as
/// each of them that was right. Throws Error (70) when the score kernel was wrong.
void print_cuda_rates(const CudaKernelRates& rates, BenchFormat format, std::ostream& out);

}  // namespace bulksim
