#pragma once

/// Marks an inline function that the kernels call too.
#ifdef __CUDACC__
#define BULKSIM_HOST_DEVICE __host__ __device__ inline
#else
#define BULKSIM_HOST_DEVICE inline
#endif
