#pragma once

/// Marks an inline function that CUDA kernels also call.
#ifdef __CUDACC__
#define BULKSIM_HOST_DEVICE __host__ __device__ inline
#else
#define BULKSIM_HOST_DEVICE inline
#endif
