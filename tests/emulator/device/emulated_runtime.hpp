#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

namespace bulksim::emulator {

/// The machine that the emulated CUDA runtime presents.
struct DeviceModel {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;  ///< bytes per device
  int multiprocessors = 2;
  std::size_t shared_per_block = 20 * 1024;  ///< bytes; enough for two warps of the score kernel
};

/// When the work of a stream happens. As on a device, only streams and events order anything: work
/// enqueued on two streams without an event between them happens in the wrong order with at least
/// one of these.
enum class StreamOrder {
  kAtOnce,       ///< when it is enqueued
  kWhenAwaited,  ///< at the last moment: when the host or another stream waits for it
  kShuffled,     ///< at random moments between the two
};

/// Resets faults and counters. Nothing may be allocated or running.
void reset_runtime(const DeviceModel& model = {}, StreamOrder order = StreamOrder::kAtOnce,
                   std::uint64_t seed = 1);

/// The `nth` call from now (1 is the next) of the runtime function `name` returns `error`. An error
/// that ends a context (illegal address, launch failure, ECC) is returned by every later call too.
/// A launch has the name "cudaLaunchKernel".
void fail_call(const std::string& name, int nth, cudaError_t error);

/// The `nth` launch from now of a kernel whose name contains `kernel` does nothing and reports
/// success.
void skip_launch(const std::string& kernel, int nth);

/// The `nth` copy to the host from now that is larger than `bytes`, and `times` - 1 after it,
/// deliver zeros and report success.
void lose_downloads(std::size_t bytes, int nth, int times);

/// From now on no event is reported as passed.
void stall_events();

std::size_t device_bytes();       ///< allocated now, on all devices
std::size_t peak_device_bytes();  ///< most since the reset
int live_objects();               ///< allocations, streams and events not yet freed
int calls_of(const std::string& name);

}  // namespace bulksim::emulator
