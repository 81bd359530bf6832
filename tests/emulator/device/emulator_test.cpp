// Guarantees of the emulator for correct kernels: the results of a device, in every order of
// threads.
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernels/dialect.cuh"
#include "emulator/device/emulator_test_support.hpp"

namespace bulksim::emulator {
namespace {

__global__ void sum_kernel(const int* values, int count, int* sum) {
  BULKSIM_SHARED(int, parts, [32]);
  const int warps = static_cast<int>(blockDim.x) / 32;
  int own = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < static_cast<unsigned>(count);
       i += gridDim.x * blockDim.x) {
    own += values[i];
  }
  for (unsigned delta = 16; delta > 0; delta /= 2)
    own += __shfl_down_sync(kAll, own, delta);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  own = static_cast<int>(threadIdx.x) < warps ? parts[threadIdx.x] : 0;
  for (int lanes = 16; lanes > 0; lanes /= 2)
    own += __shfl_xor_sync(kAll, own, lanes);
  if (threadIdx.x == 0) atomicAdd(sum, own);
}

__global__ void reverse_kernel(int* values) {
  BULKSIM_DYNAMIC_SHARED(int, copy);
  copy[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

__global__ void warp_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const bool odd = lane % 2 != 0;
  const unsigned odds = __ballot_sync(kAll, odd);
  const unsigned rotated = __shfl_sync(kAll, lane, static_cast<int>(lane) + 1, 8);
  const unsigned before = __shfl_up_sync(kAll, lane, 1);
  const unsigned half =
      odd ? __reduce_add_sync(0xAAAAAAAA, lane) : __reduce_max_sync(0x55555555, lane);
  const bool all = __all_sync(kAll, lane < 32) != 0 && __any_sync(kAll, lane == 31) != 0;
  unsigned* const row = out + lane * 5;
  row[0] = odds;
  row[1] = rotated;
  row[2] = before;
  row[3] = half;
  row[4] = all ? 1 : 0;
}

__global__ void votes_kernel(int* out) {
  const int count = __syncthreads_count(threadIdx.x % 3 == 0);
  const int any = __syncthreads_or(threadIdx.x == 40);
  const int all = __syncthreads_and(threadIdx.x != 40);
  if (threadIdx.x == 63) {
    out[0] = count;
    out[1] = any;
    out[2] = all;
  }
}

__global__ void places_kernel(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

__global__ void short_warp_kernel(int* out) {
  const int value = __shfl_down_sync(kAll, static_cast<int>(threadIdx.x), 1);
  __syncwarp();
  out[threadIdx.x] = value;
}

class EmulatorTest : public testing::TestWithParam<ThreadOrder> {
 protected:
  EmulatorTest() { settings() = {GetParam(), 7}; }
  ~EmulatorTest() override { settings() = {}; }

  TestStream stream_;
};

INSTANTIATE_TEST_SUITE_P(Orders, EmulatorTest,
                         testing::Values(ThreadOrder::kForward, ThreadOrder::kReverse,
                                         ThreadOrder::kRandom),
                         order_name);

TEST_P(EmulatorTest, BlocksReduceThroughSharedMemoryAndAtomics) {
  std::vector<int> values(5000);
  std::iota(values.begin(), values.end(), 1);
  int sum = 0;

  BULKSIM_LAUNCH(sum_kernel, 3, 128, 0, stream_.get(), values.data(), 5000, &sum);

  EXPECT_EQ(sum, 5000 * 5001 / 2);
}

TEST_P(EmulatorTest, DynamicSharedMemoryBelongsToTheBlock) {
  std::vector<int> values(96);
  std::iota(values.begin(), values.end(), 0);

  BULKSIM_LAUNCH(reverse_kernel, 1, 96, 96 * sizeof(int), stream_.get(), values.data());

  for (int i = 0; i < 96; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], 95 - i);
}

TEST_P(EmulatorTest, WarpOperationsGiveTheResultsOfADevice) {
  std::vector<unsigned> out(32 * 5);

  BULKSIM_LAUNCH(warp_kernel, 1, 32, 0, stream_.get(), out.data());

  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned* row = out.data() + lane * 5;
    EXPECT_EQ(row[0], 0xAAAAAAAA);
    EXPECT_EQ(row[1], lane / 8 * 8 + (lane + 1) % 8);
    EXPECT_EQ(row[2], lane == 0 ? 0 : lane - 1);
    EXPECT_EQ(row[3], lane % 2 != 0 ? 256U : 30U);
    EXPECT_EQ(row[4], 1U);
  }
}

TEST_P(EmulatorTest, BarriersCountVotes) {
  std::vector<int> out(3, -1);

  BULKSIM_LAUNCH(votes_kernel, 1, 64, 0, stream_.get(), out.data());

  EXPECT_EQ(out, (std::vector<int>{22, 1, 0}));
}

TEST_P(EmulatorTest, EveryThreadHasItsIndices) {
  std::vector<unsigned> out(2 * 3 * 2 * 4 * 2 * 3);

  BULKSIM_LAUNCH(places_kernel, dim3(2, 3, 2), dim3(4, 2, 3), 0, stream_.get(), out.data());

  for (unsigned i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i / 24 * 1000 + i % 24);
}

TEST_P(EmulatorTest, TheLastWarpMayBeShort) {
  std::vector<int> out(40);

  BULKSIM_LAUNCH(short_warp_kernel, 1, 40, 0, stream_.get(), out.data());

  EXPECT_EQ(out[32], 33);
  EXPECT_EQ(out[30], 31);
}

}  // namespace
}  // namespace bulksim::emulator
