#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulator/device/emulated_runtime.hpp"

namespace bulksim::emulator {

/// Work in order. `completed` counts finished work; a position counts the work enqueued before.
struct StreamState {
  struct Operation {
    std::function<void()> work;
    std::shared_ptr<StreamState> awaited;  // without work: waits for this stream ...
    std::uint64_t position = 0;            // ... to reach this position
  };
  std::deque<Operation> operations;
  std::uint64_t completed = 0;

  std::uint64_t position() const { return completed + operations.size(); }
};

/// Runs the work of a stream up to a position, and the work it waits for.
void run_to(StreamState& stream, std::uint64_t position);

struct Allocation {
  std::size_t bytes;
  int device;
};

struct Fault {
  int calls_left;
  cudaError_t error;
};

/// Copies to the host that deliver zeros.
struct LostDownloads {
  std::size_t larger_than = 0;
  int before = 0;  // number that still arrive
  int times = 0;

  bool takes(std::size_t bytes) {
    if (times == 0 || bytes <= larger_than) return false;
    if (before > 0) {
      --before;
      return false;
    }
    --times;
    return true;
  }
};

struct Runtime {
  std::mutex mutex;
  DeviceModel model;
  StreamOrder order = StreamOrder::kAtOnce;
  std::mt19937_64 random;
  std::map<char*, Allocation> device_memory;
  std::map<char*, std::size_t> pinned_memory;
  std::vector<std::shared_ptr<StreamState>> streams;
  std::map<const void*, int> shared_limits;  // kernel -> allowed dynamic shared bytes
  std::size_t peak = 0;
  int events = 0;
  std::map<std::string, Fault> faults;
  std::pair<std::string, int> skipped_launch;
  LostDownloads lost;
  bool stalled = false;  // events are never reported as passed
  std::map<std::string, int> calls;
  cudaError_t ended = cudaSuccess;  // the error that ended the context

  std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& [memory, allocation] : device_memory)
      sum += allocation.bytes;
    return sum;
  }
};

Runtime& runtime();

extern thread_local int current_device;
extern thread_local cudaError_t last_error;

bool ends_context(cudaError_t error);
/// In shuffled order, advances some streams by some operations.
void shuffle_ahead(Runtime& state);
/// Runs the work of all streams.
void run_all(Runtime& state);
void enqueue(Runtime& state, cudaStream_t stream, StreamState::Operation operation);

/// One call of the runtime: counts it, fails it if requested, or executes it.
template <class Body>
cudaError_t call(const char* name, Body body) {
  Runtime& state = runtime();
  const std::lock_guard lock(state.mutex);
  ++state.calls[name];
  const auto fault = state.faults.find(name);
  if (state.ended == cudaSuccess && fault != state.faults.end() &&
      --fault->second.calls_left == 0) {
    const cudaError_t error = fault->second.error;
    state.faults.erase(fault);
    if (ends_context(error)) state.ended = error;
    return last_error = error;
  }
  if (state.ended != cudaSuccess) return last_error = state.ended;
  shuffle_ahead(state);
  const cudaError_t result = body(state);
  if (result != cudaSuccess) last_error = result;
  return result;
}

}  // namespace bulksim::emulator

struct CUstream_st {
  std::shared_ptr<bulksim::emulator::StreamState> state =
      std::make_shared<bulksim::emulator::StreamState>();
};

struct CUevent_st {
  std::shared_ptr<bulksim::emulator::StreamState> stream;
  std::uint64_t position = 0;
};
