#pragma once

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "emulator/device/cuda_emulator.hpp"

namespace bulksim::emulator {

/// A stream of the emulated runtime.
class TestStream {
 public:
  TestStream() {
    if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) {
      throw std::runtime_error("no stream");
    }
  }
  ~TestStream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline std::string name_of(ThreadOrder order) {
  return order == ThreadOrder::kForward   ? "Forward"
         : order == ThreadOrder::kReverse ? "Reverse"
                                          : "Random";
}

inline std::string order_name(const testing::TestParamInfo<ThreadOrder>& info) {
  return name_of(info.param);
}

}  // namespace bulksim::emulator
