#include "emulator/device/emulated_runtime.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernels/dialect.cuh"
#include "emulator/device/emulator_test_support.hpp"

namespace bulksim::emulator {
namespace {

__global__ void double_kernel(int* values) {
  values[threadIdx.x] *= 2;
}

/// Pinned and device memory for 64 integers.
class Buffers {
 public:
  Buffers() {
    void* memory = nullptr;
    EXPECT_EQ(cudaHostAlloc(&memory, kBytes, 0), cudaSuccess);
    host = static_cast<int*>(memory);
    EXPECT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    device = static_cast<int*>(memory);
  }
  ~Buffers() {
    EXPECT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  }

  cudaError_t upload(cudaStream_t stream) const {
    return cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream);
  }
  cudaError_t download(cudaStream_t stream) const {
    return cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream);
  }

  static constexpr std::size_t kBytes = 64 * sizeof(int);
  int* host = nullptr;
  int* device = nullptr;
};

class EmulatedRuntimeTest : public testing::Test {
 protected:
  ~EmulatedRuntimeTest() override {
    reset_runtime();
    EXPECT_EQ(live_objects(), 0);
  }
};

TEST_F(EmulatedRuntimeTest, WorkOfAStreamHappensInOrderAtAnyTime) {
  for (const auto order :
       {StreamOrder::kAtOnce, StreamOrder::kWhenAwaited, StreamOrder::kShuffled}) {
    reset_runtime({}, order);
    const Buffers buffers;
    const TestStream stream;
    for (int i = 0; i < 64; ++i)
      buffers.host[i] = i;

    EXPECT_EQ(buffers.upload(stream.get()), cudaSuccess);
    BULKSIM_LAUNCH(double_kernel, 1, 64, 0, stream.get(), buffers.device);
    EXPECT_EQ(buffers.download(stream.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);

    EXPECT_EQ(buffers.host[63], 126);
  }
}

TEST_F(EmulatedRuntimeTest, StreamsWithoutAnEventBetweenThemGiveAStaleResult) {
  reset_runtime({}, StreamOrder::kWhenAwaited);
  const Buffers buffers;
  const TestStream up;
  const TestStream down;
  buffers.host[0] = 5;

  EXPECT_EQ(buffers.upload(up.get()), cudaSuccess);
  EXPECT_EQ(buffers.download(down.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(down.get()), cudaSuccess);

  EXPECT_EQ(buffers.host[0], -1);
}

TEST_F(EmulatedRuntimeTest, AnEventOrdersTwoStreams) {
  reset_runtime({}, StreamOrder::kWhenAwaited);
  const Buffers buffers;
  const TestStream up;
  const TestStream down;
  cudaEvent_t uploaded = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming), cudaSuccess);
  buffers.host[0] = 5;

  EXPECT_EQ(buffers.upload(up.get()), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(uploaded, up.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(down.get(), uploaded, 0), cudaSuccess);
  EXPECT_EQ(buffers.download(down.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(down.get()), cudaSuccess);

  EXPECT_EQ(buffers.host[0], 5);
  EXPECT_EQ(cudaEventDestroy(uploaded), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, TheNthCallFailsAndLaterOnesOnlyInAnEndedContext) {
  const Buffers buffers;
  const TestStream stream;
  fail_call("cudaMemcpyAsync", 2, cudaErrorInvalidValue);

  const cudaError_t first = buffers.upload(stream.get());
  const cudaError_t second = buffers.upload(stream.get());
  const cudaError_t third = buffers.upload(stream.get());
  fail_call("cudaStreamSynchronize", 1, cudaErrorIllegalAddress);
  const cudaError_t fourth = cudaStreamSynchronize(stream.get());
  const cudaError_t fifth = buffers.upload(stream.get());
  reset_runtime();

  EXPECT_EQ(first, cudaSuccess);
  EXPECT_EQ(second, cudaErrorInvalidValue);
  EXPECT_EQ(third, cudaSuccess);
  EXPECT_EQ(fourth, cudaErrorIllegalAddress);
  EXPECT_EQ(fifth, cudaErrorIllegalAddress);
}

TEST_F(EmulatedRuntimeTest, ADeviceHasAsMuchMemoryAsItsModel) {
  reset_runtime({.memory = 1000});
  void* memory = nullptr;

  const cudaError_t too_much = cudaMalloc(&memory, 1001);
  const cudaError_t fits = cudaMalloc(&memory, 1000);

  EXPECT_EQ(too_much, cudaErrorMemoryAllocation);
  EXPECT_EQ(fits, cudaSuccess);
  EXPECT_EQ(device_bytes(), 1000U);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(peak_device_bytes(), 1000U);
}

TEST_F(EmulatedRuntimeTest, ACopyFromPageableMemoryIsAMisuse) {
  const Buffers buffers;
  const TestStream stream;
  std::vector<int> pageable(64);

  EXPECT_THROW(cudaMemcpyAsync(buffers.device, pageable.data(), Buffers::kBytes,
                               cudaMemcpyHostToDevice, stream.get()),
               Misuse);
  EXPECT_THROW(cudaMemcpyAsync(buffers.device, buffers.host, Buffers::kBytes + 1,
                               cudaMemcpyHostToDevice, stream.get()),
               Misuse);
}

TEST_F(EmulatedRuntimeTest, ALaunchCanBeLostAndACopyCanDeliverZeros) {
  const Buffers buffers;
  const TestStream stream;
  for (int i = 0; i < 64; ++i)
    buffers.host[i] = i;
  skip_launch("double", 1);
  lose_downloads(0, 2, 1);

  EXPECT_EQ(buffers.upload(stream.get()), cudaSuccess);
  BULKSIM_LAUNCH(double_kernel, 1, 64, 0, stream.get(), buffers.device);
  EXPECT_EQ(buffers.download(stream.get()), cudaSuccess);
  const int after_lost_launch = buffers.host[63];
  EXPECT_EQ(buffers.download(stream.get()), cudaSuccess);

  EXPECT_EQ(after_lost_launch, 63);
  EXPECT_EQ(buffers.host[63], 0);
}

}  // namespace
}  // namespace bulksim::emulator
