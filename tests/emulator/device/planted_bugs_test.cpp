// Kernels with one bug each: the emulator or a sanitizer reports it, or the result is wrong.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cuda/kernels/dialect.cuh"
#include "emulator/device/emulator_test_support.hpp"

namespace bulksim::emulator {
namespace {

using testing::HasSubstr;

__global__ void barrier_in_a_branch_kernel() {
  if (threadIdx.x < 32) __syncthreads();
}
__global__ void two_barriers_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void exit_before_barrier_kernel() {
  if (threadIdx.x == 5) return;
  __syncthreads();
}
__global__ void deadlock_kernel() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
__global__ void mask_of_gone_lanes_kernel(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_down_sync(kAll, static_cast<int>(threadIdx.x), 1);
}
__global__ void mask_without_caller_kernel() {
  __syncwarp(0x0000FFFF);
}
__global__ void shuffle_from_outside_kernel(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_sync(0x0000FFFF, static_cast<int>(threadIdx.x), 20);
}
__global__ void two_warp_operations_kernel(int* out) {
  if (threadIdx.x < 7) {
    out[threadIdx.x] = __any_sync(kAll, 1);
  } else {
    __syncwarp();
  }
}
__global__ void nothing_kernel() {}
__global__ void missing_barrier_kernel(int* out) {
  BULKSIM_SHARED(int, shared, [64]);
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = shared[63 - threadIdx.x];
}
__global__ void unwritten_shared_kernel(int* out) {
  BULKSIM_DYNAMIC_SHARED(int, shared);
  out[threadIdx.x] = shared[threadIdx.x];
}

int sink[64];

/// The message of the emulator about a launch; empty if it finds nothing.
template <class... Parameters, class... Arguments>
std::string fault_of(void (*kernel)(Parameters...), unsigned threads, Arguments... arguments) {
  TestStream stream;
  try {
    launch("kernel", kernel, 1, threads, 0, stream.get(), arguments...);
  } catch (const Misuse& misuse) {
    return misuse.what();
  }
  return "";
}

class PlantedBug : public testing::TestWithParam<ThreadOrder> {
 protected:
  PlantedBug() { settings() = {GetParam(), 11}; }
  ~PlantedBug() override { settings() = {}; }
};

INSTANTIATE_TEST_SUITE_P(Orders, PlantedBug,
                         testing::Values(ThreadOrder::kForward, ThreadOrder::kReverse,
                                         ThreadOrder::kRandom),
                         order_name);

TEST_P(PlantedBug, ABarrierInABranchIsNamedWithItsLine) {
  const std::string fault = fault_of(barrier_in_a_branch_kernel, 64);

  EXPECT_THAT(fault, HasSubstr("left the kernel"));
}

TEST_P(PlantedBug, ThreadsAtDifferentBarriersAreNamed) {
  const std::string fault = fault_of(two_barriers_kernel, 64);

  EXPECT_THAT(fault, HasSubstr("planted_bugs_test.cpp:"));
  EXPECT_THAT(fault, HasSubstr("others wait at the __syncthreads of line"));
}

TEST_P(PlantedBug, AnExitBeforeABarrierIsNamed) {
  EXPECT_THAT(fault_of(exit_before_barrier_kernel, 64), HasSubstr("left the kernel"));
}

TEST_P(PlantedBug, ADeadlockNamesEachThreadAndItsLine) {
  const std::string fault = fault_of(deadlock_kernel, 32);

  EXPECT_THAT(fault, HasSubstr("deadlock: thread 0 waits at line"));
}

TEST_P(PlantedBug, AMaskOfLanesThatHaveLeftIsNamed) {
  // in forward order, the leaving lanes have not left yet when the first lane arrives: a deadlock
  EXPECT_NE(fault_of(mask_of_gone_lanes_kernel, 32, static_cast<int*>(sink)), "");
}

TEST_P(PlantedBug, AMaskWithoutItsCallerIsNamed) {
  EXPECT_THAT(fault_of(mask_without_caller_kernel, 32), HasSubstr("does not contain the lane"));
}

TEST_P(PlantedBug, AShuffleFromOutsideItsMaskIsNamed) {
  EXPECT_THAT(fault_of(shuffle_from_outside_kernel, 32, static_cast<int*>(sink)),
              HasSubstr("reads lane 20"));
}

TEST_P(PlantedBug, LanesAtDifferentWarpOperationsAreNamed) {
  EXPECT_THAT(fault_of(two_warp_operations_kernel, 32, static_cast<int*>(sink)),
              HasSubstr("another lane of the mask waits"));
}

TEST_P(PlantedBug, TheMachineWorksAfterAFailedLaunch) {
  fault_of(deadlock_kernel, 32);

  EXPECT_EQ(fault_of(nothing_kernel, 1024), "");
}

TEST(LaunchTest, AConfigurationThatNoDeviceAcceptsIsRejected) {
  TestStream stream;

  EXPECT_THROW(launch("nothing", nothing_kernel, 0, 32, 0, stream.get()), Misuse);
  EXPECT_THROW(launch("nothing", nothing_kernel, 1, 1025, 0, stream.get()), Misuse);
  EXPECT_THROW(launch("nothing", nothing_kernel, 1, dim3(1, 1, 65), 0, stream.get()), Misuse);
  EXPECT_THROW(launch("nothing", nothing_kernel, dim3(1, 65536), 32, 0, stream.get()), Misuse);
  EXPECT_THROW(launch("nothing", nothing_kernel, 1, 32, 49153, stream.get()), Misuse);
  EXPECT_THROW(launch("nothing", nothing_kernel, 1, 32, 0, nullptr), Misuse);
}

TEST(SharedMemoryTest, StartsAsOnesToExposeAMissingWrite) {
  TestStream stream;
  int out[32] = {};

  BULKSIM_LAUNCH(unwritten_shared_kernel, 1, 32, 128, stream.get(), out);

  EXPECT_EQ(out[31], -1);
}

#ifndef BULKSIM_EMULATOR_TSAN  // it ends the program at the race itself
TEST(MissingBarrierTest, GivesAWrongResultInTwoOfThreeOrders) {
  int wrong = 0;

  for (const auto order : {ThreadOrder::kForward, ThreadOrder::kReverse, ThreadOrder::kRandom}) {
    settings() = {order, 3};
    int out[64] = {};
    EXPECT_EQ(fault_of(missing_barrier_kernel, 64, static_cast<int*>(out)), "");
    for (int i = 0; i < 64; ++i) {
      if (out[i] != 63 - i) {
        ++wrong;
        break;
      }
    }
  }
  settings() = {};

  EXPECT_GE(wrong, 2);
}
#endif

#ifdef __SANITIZE_ADDRESS__

struct alignas(16) Four {
  float x, y, z, w;
};
__global__ void static_overrun_kernel(int* out) {
  BULKSIM_SHARED(int, shared, [32]);
  shared[threadIdx.x + 1] = 1;
  out[threadIdx.x] = shared[threadIdx.x];
}
__global__ void dynamic_overrun_kernel() {
  BULKSIM_DYNAMIC_SHARED(char, shared);
  shared[threadIdx.x + 1] = 1;
}
__global__ void global_overrun_kernel(int* out) {
  out[threadIdx.x + 1] = 1;
}
__global__ void misaligned_kernel(const float* in, float* out) {
  out[threadIdx.x] = reinterpret_cast<const Four*>(in + 1)->x;
}
__global__ void overflow_kernel(int value, int* out) {
  out[threadIdx.x] = value * 2;
}

class AddressSanitizerDeathTest : public testing::Test {
 protected:
  AddressSanitizerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(AddressSanitizerDeathTest, FindsAnOverrunOfStaticSharedMemory) {
  EXPECT_DEATH(fault_of(static_overrun_kernel, 32, static_cast<int*>(sink)), "out of bounds");
}

TEST_F(AddressSanitizerDeathTest, FindsAnOverrunOfDynamicSharedMemoryToTheByte) {
  const auto overrun = [] {
    TestStream stream;
    BULKSIM_LAUNCH(dynamic_overrun_kernel, 1, 32, 32, stream.get());
  };

  EXPECT_DEATH(overrun(), "use-after-poison|heap-buffer-overflow");
}

TEST_F(AddressSanitizerDeathTest, FindsAnOverrunOfDeviceMemory) {
  std::vector<int> out(32);

  EXPECT_DEATH(fault_of(global_overrun_kernel, 32, out.data()), "heap-buffer-overflow");
}

TEST_F(AddressSanitizerDeathTest, FindsAMisalignedVectorAccess) {
  alignas(16) static const float in[8] = {};
  static float out[1];

  EXPECT_DEATH(
      fault_of(misaligned_kernel, 1, static_cast<const float*>(in), static_cast<float*>(out)),
      "misaligned address");
}

TEST_F(AddressSanitizerDeathTest, FindsASignedOverflow) {
  EXPECT_DEATH(fault_of(overflow_kernel, 1, 2000000000, static_cast<int*>(sink)),
               "signed integer overflow");
}

#endif

#ifdef BULKSIM_EMULATOR_TSAN

__global__ void missing_syncwarp_kernel(int* out) {
  BULKSIM_DYNAMIC_SHARED(int, shared);
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = shared[31 - threadIdx.x];
}
__global__ void race_of_blocks_kernel(int* values) {
  if (threadIdx.x == 0) values[blockIdx.x] = values[(blockIdx.x + 1) % gridDim.x] + 1;
}

class ThreadSanitizerDeathTest : public testing::TestWithParam<ThreadOrder> {
 protected:
  ThreadSanitizerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Runs `body` in the order of the case and exits with 0; a race makes it 66.
  template <class Body>
  void run_and_leave(Body body) {
    settings() = {GetParam(), 5};
    body();
    std::exit(0);
  }
};

INSTANTIATE_TEST_SUITE_P(Orders, ThreadSanitizerDeathTest,
                         testing::Values(ThreadOrder::kForward, ThreadOrder::kReverse,
                                         ThreadOrder::kRandom),
                         order_name);

TEST_P(ThreadSanitizerDeathTest, FindsAMissingBarrier) {
  const auto body = [] { fault_of(missing_barrier_kernel, 64, static_cast<int*>(sink)); };

  EXPECT_EXIT(run_and_leave(body), testing::ExitedWithCode(66), "data race");
}

TEST_P(ThreadSanitizerDeathTest, FindsAMissingSyncwarp) {
  const auto body = [] {
    TestStream stream;
    BULKSIM_LAUNCH(missing_syncwarp_kernel, 1, 32, 128, stream.get(), static_cast<int*>(sink));
  };

  EXPECT_EXIT(run_and_leave(body), testing::ExitedWithCode(66), "data race");
}

TEST_P(ThreadSanitizerDeathTest, FindsARaceBetweenBlocks) {
  const auto body = [] {
    TestStream stream;
    BULKSIM_LAUNCH(race_of_blocks_kernel, 4, 32, 0, stream.get(), static_cast<int*>(sink));
  };

  EXPECT_EXIT(run_and_leave(body), testing::ExitedWithCode(66), "data race");
}

#endif

}  // namespace
}  // namespace bulksim::emulator
