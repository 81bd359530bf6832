#pragma once

// The CUDA language on the CPU: what a kernel file sees instead of nvcc's built-in declarations.
//
// One fiber runs each CUDA thread (machine.hpp), so barriers, warp operations and shared memory
// behave as on a device, in a chosen order of threads, and the sanitizers see every access.
// Not modelled: weak memory order, the timing of a warp in lockstep, bank conflicts, coalescing,
// registers and occupancy, asynchronous copies, clusters, textures, approximate intrinsics,
// contraction to fma. A kernel declares shared memory and is launched through the macros of
// backend/cuda/kernels/dialect.cuh.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include "emulator/device/machine.hpp"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ bulksim_declare_shared_memory_through_the_macros

namespace bulksim::emulator {

inline constexpr unsigned kAll = 0xFFFFFFFF;

/// Checks the launch, and runs it when its stream reaches it (emulated_runtime.cpp).
void enqueue_launch(const Launch& launch, const void* kernel, cudaStream_t stream,
                    std::function<void()> body);
/// Device work that is not a kernel here.
void enqueue_work(cudaStream_t stream, std::function<void()> work);

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, cudaStream_t stream, Arguments... arguments) {
  enqueue_launch({name, grid, block, shared_bytes}, reinterpret_cast<const void*>(kernel), stream,
                 [=] { kernel(arguments...); });
}

template <class T>
std::uint64_t pack(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T unpack(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Each lane names the lane whose value it takes; with kKeep it keeps its own.
inline constexpr int kKeep = -1;

template <class T>
T shuffle(unsigned mask, T value, int source, Site site) {
  const int lane = static_cast<int>(place().lane);
  const int from = source == kKeep ? lane : source;
  if ((mask >> from & 1U) == 0) {
    misuse(site, "the shuffle reads lane " + std::to_string(from) + ", which is not in the mask");
  }
  const Collect collect = [](const std::uint64_t* values, unsigned, unsigned from_lane) {
    return values[from_lane];
  };
  return unpack<T>(warp_operation(
      {mask, pack(value), collect, static_cast<unsigned>(from), MemoryOrder::kNone, site}));
}

inline int segment(int width) {
  return static_cast<int>(place().lane) & ~(width - 1);
}

template <class T, class Join>
T reduce(unsigned mask, T value, Join, Site site) {
  const Collect collect = [](const std::uint64_t* values, unsigned lanes, unsigned) {
    T joined = unpack<T>(values[std::countr_zero(lanes)]);
    for (lanes &= lanes - 1; lanes != 0; lanes &= lanes - 1) {
      joined = Join{}(joined, unpack<T>(values[std::countr_zero(lanes)]));
    }
    return pack(joined);
  };
  return unpack<T>(warp_operation({mask, pack(value), collect, 0, MemoryOrder::kNone, site}));
}

template <class T, class Change>
T change(T* at, Change new_value) {
  std::atomic_ref<T> cell(*at);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, new_value(old), std::memory_order_relaxed)) {
  }
  return old;
}

}  // namespace bulksim::emulator

#define threadIdx (::bulksim::emulator::place().thread)
#define blockIdx (::bulksim::emulator::place().block)
#define blockDim (::bulksim::emulator::place().block_extent)
#define gridDim (::bulksim::emulator::place().grid_extent)

// Barriers and warp operations; the site is the calling line of the kernel.

using BulksimSite = bulksim::emulator::Site;

inline void __syncthreads(BulksimSite site = BulksimSite::here()) {
  bulksim::emulator::block_barrier(false, site);
}
inline int __syncthreads_count(int predicate, BulksimSite site = BulksimSite::here()) {
  return static_cast<int>(bulksim::emulator::block_barrier(predicate != 0, site));
}
inline int __syncthreads_or(int predicate, BulksimSite site = BulksimSite::here()) {
  return bulksim::emulator::block_barrier(predicate != 0, site) != 0;
}
inline int __syncthreads_and(int predicate, BulksimSite site = BulksimSite::here()) {
  return bulksim::emulator::block_barrier(predicate == 0, site) == 0;
}
inline void __syncwarp(unsigned mask = bulksim::emulator::kAll,
                       BulksimSite site = BulksimSite::here()) {
  const bulksim::emulator::Collect nothing = [](const std::uint64_t*, unsigned, unsigned) {
    return std::uint64_t{0};
  };
  bulksim::emulator::warp_operation(
      {mask, 0, nothing, 0, bulksim::emulator::MemoryOrder::kOrdered, site});
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              BulksimSite site = BulksimSite::here()) {
  const unsigned bit = predicate != 0 ? 1U << bulksim::emulator::place().lane : 0U;
  return bulksim::emulator::reduce(mask, bit, std::bit_or<unsigned>{}, site);
}
inline int __any_sync(unsigned mask, int predicate, BulksimSite site = BulksimSite::here()) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, BulksimSite site = BulksimSite::here()) {
  return __ballot_sync(mask, predicate == 0, site) == 0;
}
inline unsigned __activemask() {
  return bulksim::emulator::live_lanes();
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              BulksimSite site = BulksimSite::here()) {
  const int from = bulksim::emulator::segment(width) + (source & (width - 1));
  return bulksim::emulator::shuffle(mask, value, from, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 BulksimSite site = BulksimSite::here()) {
  const int from = static_cast<int>(bulksim::emulator::place().lane) - static_cast<int>(delta);
  const bool inside = from >= bulksim::emulator::segment(width);
  return bulksim::emulator::shuffle(mask, value, inside ? from : bulksim::emulator::kKeep, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   BulksimSite site = BulksimSite::here()) {
  const int from = static_cast<int>(bulksim::emulator::place().lane + delta);
  const bool inside = from < bulksim::emulator::segment(width) + width;
  return bulksim::emulator::shuffle(mask, value, inside ? from : bulksim::emulator::kKeep, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  BulksimSite site = BulksimSite::here()) {
  const int from = static_cast<int>(bulksim::emulator::place().lane) ^ lanes;
  const bool inside = from < bulksim::emulator::segment(width) + width;
  return bulksim::emulator::shuffle(mask, value, inside ? from : bulksim::emulator::kKeep, site);
}

template <class T>
T __reduce_add_sync(unsigned mask, T value, BulksimSite site = BulksimSite::here()) {
  return bulksim::emulator::reduce(mask, value, std::plus<T>{}, site);
}
template <class T>
T __reduce_max_sync(unsigned mask, T value, BulksimSite site = BulksimSite::here()) {
  struct Larger {
    T operator()(T a, T b) const { return std::max(a, b); }
  };
  return bulksim::emulator::reduce(mask, value, Larger{}, site);
}
template <class T>
T __reduce_min_sync(unsigned mask, T value, BulksimSite site = BulksimSite::here()) {
  struct Smaller {
    T operator()(T a, T b) const { return std::min(a, b); }
  };
  return bulksim::emulator::reduce(mask, value, Smaller{}, site);
}

// Memory

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, std::type_identity_t<T> value) {
  *to = value;
}
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T old) { return std::max(old, value); });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T old) { return std::min(old, value); });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T old) { return old | value; });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return bulksim::emulator::change(at, [=](T old) { return old == expected ? value : old; });
}

// Arithmetic

inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
inline int __clz(int bits) {
  return std::countl_zero(static_cast<unsigned>(bits));
}
inline int __float2int_rn(float value) {
  return static_cast<int>(std::lrint(value));
}
