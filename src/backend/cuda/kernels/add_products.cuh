#pragma once

#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/layout.hpp"

// The inner loop: query entries times the posting lists of an item block, accumulated in shared
// memory.
namespace bulksim::cuda {

/// One posting list to add, times a weight. 16 bytes: one broadcast from shared memory.
struct alignas(16) Work {
  unsigned first;
  unsigned length;
  int weight;
  int unused;
};

/// Adds a posting list to the sums. The items of a list are distinct, so lanes never collide.
__device__ inline void add_list(const int2* postings, const Work& work, int2 early, unsigned lane,
                                long long* sums) {
  if (lane < work.length) sums[early.y] = multiply_add(work.weight, early.x, sums[early.y]);
  BULKSIM_UNROLL(4)
  for (unsigned i = lane + kWarp; i < work.length; i += kWarp) {
    const int2 posting = __ldg(postings + work.first + i);
    sums[posting.y] = multiply_add(work.weight, posting.x, sums[posting.y]);
  }
}

/// Adds the products of every `stride`-th group of 32 entries of a query row with an item block.
///
/// The lanes look up 32 columns together and store the lists found in `works`. Then the warp adds
/// one list after the other, loading the start of the next before it adds the current one.
__device__ inline void add_products(const QueryRows& queries, const ItemBlocks& items,
                                    std::int64_t block, std::int64_t begin, std::int64_t end,
                                    std::int64_t stride, long long* sums, Work* works) {
  const unsigned lane = lane_of_thread();
  const std::int64_t base = __ldg(items.first + block);
  const uint2* const look = items.look + block * items.words;
  const uint2* const lists = items.lists + base;
  const int2* const postings = items.postings + base;
  for (std::int64_t run = begin; run < end; run += stride * kWarp) {
    Work work{};
    if (run + lane < end) {
      const int2 entry = __ldg(queries.entries + run + lane);
      const unsigned rank = rank_of(look, static_cast<std::uint32_t>(entry.x));
      if (rank != kNotThere) {
        const uint2 list = __ldg(lists + rank);
        work = {list.x, list.y, entry.y, 0};
      }
    }
    const unsigned found = __ballot_sync(kAllLanes, work.length != 0);
    if (work.length != 0) works[__popc(found & ((1U << lane) - 1))] = work;
    __syncwarp();
    const int count = __popc(found);
    int2 next = make_int2(0, 0);
    if (count > 0 && lane < works[0].length) next = __ldg(postings + works[0].first + lane);
    for (int k = 0; k < count; ++k) {
      const Work now = works[k];
      const int2 early = next;
      if (k + 1 < count && lane < works[k + 1].length) {
        next = __ldg(postings + works[k + 1].first + lane);
      }
      add_list(postings, now, early, lane, sums);
      __syncwarp();
    }
  }
}

}  // namespace bulksim::cuda
