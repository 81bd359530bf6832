#pragma once

#include "backend/cuda/kernels/dialect.cuh"
#include "backend/cuda/kernels/layout.hpp"

// Functions shared by several kernels.
namespace bulksim::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFF;
inline constexpr int kWarp = 32;
inline constexpr unsigned kNotThere = 0xFFFFFFFF;

/// Sums and checksums are added modulo 2^64, in the type of the device's atomics.
using Wrapping = unsigned long long;

__device__ inline unsigned lane_of_thread() {
  return threadIdx.x % kWarp;
}

/// The rank of this label among those present, or kNotThere.
__device__ inline unsigned rank_of(const uint2* look, std::uint32_t label) {
  const uint2 word = __ldg(look + label / 32);
  const unsigned bit = 1U << (label % 32);
  return (word.x & bit) == 0 ? kNotThere : word.y + __popc(word.x & (bit - 1));
}

/// First position in the ascending `sorted` whose element is not below `value`.
template <class T>
__device__ inline std::int64_t lower_bound(const T* sorted, std::int64_t size, T value) {
  std::int64_t first = 0;
  while (size > 0) {
    const std::int64_t half = size / 2;
    const bool below = sorted[first + half] < value;
    first = below ? first + half + 1 : first;
    size = below ? size - half - 1 : half;
  }
  return first;
}

/// The row that contains entry `at`.
__device__ inline std::int64_t row_of_entry(const std::int64_t* offsets, std::int64_t rows,
                                            std::int64_t at) {
  return lower_bound(offsets, rows + 1, at + 1) - 1;
}

/// sum + a * b from 32 x 32 bits; by default nvcc widens first and multiplies 64 x 64.
__device__ inline long long multiply_add(int a, int b, long long sum) {
#ifdef __CUDA_ARCH__
  long long result;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(result) : "r"(a), "r"(b), "l"(sum));
  return result;
#else
  return sum + static_cast<long long>(a) * b;
#endif
}

/// a * b modulo 2^64.
__device__ inline Wrapping wrapping_product(std::int32_t a, Wrapping b) {
  return static_cast<Wrapping>(static_cast<long long>(a)) * b;
}

__device__ inline Wrapping warp_sum(Wrapping value) {
  BULKSIM_UNROLL(5)
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  }
  return value;
}

__device__ inline long long warp_largest(long long value) {
  BULKSIM_UNROLL(5)
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const long long other = __shfl_xor_sync(kAllLanes, value, lanes);
    value = other > value ? other : value;
  }
  return value;
}

/// First piece and stride of a kernel that processes many equal pieces, one per thread or one per
/// warp.
__device__ inline std::int64_t first_piece() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t piece_stride() {
  return std::int64_t{gridDim.x} * blockDim.x;
}
__device__ inline std::int64_t first_piece_of_warp() {
  return first_piece() / kWarp;
}
__device__ inline std::int64_t warp_stride() {
  return piece_stride() / kWarp;
}

/// Threads per block of such a kernel, and blocks for `pieces` pieces.
inline constexpr int kPieceThreads = 256;
inline unsigned blocks_for(std::int64_t pieces) {
  constexpr std::int64_t kMost = 1 << 16;
  const std::int64_t blocks = (pieces + kPieceThreads - 1) / kPieceThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < kMost ? blocks : kMost);
}

}  // namespace bulksim::cuda
