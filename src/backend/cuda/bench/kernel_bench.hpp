#pragma once

#include "backend/cuda/bench/cusparse_calls.hpp"
#include "backend/cuda/cuda_kernel_benchmark.hpp"

namespace bulksim::cuda {

/// `benchmark_cuda_kernel` with these functions of cuSPARSE; null if there are none, with the
/// reason.
CudaKernelRates run_kernel_bench(const QuantizedRows& queries, const QuantizedRows& items,
                                 const CudaBenchmarkOptions& options, const CusparseCalls* cusparse,
                                 const std::string& why_not);

}  // namespace bulksim::cuda
