// The functions of the CUDA runtime that the backend calls, on the CPU.
#include "emulated_runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "cuda_emulator.hpp"

namespace bulksim::emulator {

namespace {

/// Work in order. `completed` counts what has happened; a position counts what was put in before.
struct StreamState {
  struct Operation {
    std::function<void()> work;
    std::shared_ptr<StreamState> awaited;  // without work: waits for this stream ...
    std::uint64_t position = 0;            // ... to come here
  };
  std::deque<Operation> operations;
  std::uint64_t completed = 0;

  std::uint64_t position() const { return completed + operations.size(); }
};

void run_to(StreamState& stream, std::uint64_t position) {
  while (stream.completed < position) {
    const StreamState::Operation operation = std::move(stream.operations.front());
    stream.operations.pop_front();
    if (operation.awaited) run_to(*operation.awaited, operation.position);
    if (operation.work) operation.work();
    ++stream.completed;
  }
}

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
  int before = 0;  // that still arrive
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
  std::map<const void*, int> shared_limits;  // kernel -> dynamic shared bytes it was allowed
  std::size_t peak = 0;
  int events = 0;
  std::map<std::string, Fault> faults;
  std::pair<std::string, int> skipped_launch;
  LostDownloads lost;
  std::map<std::string, int> calls;
  cudaError_t ended = cudaSuccess;  // the error that ended the context

  std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& [memory, allocation] : device_memory)
      sum += allocation.bytes;
    return sum;
  }
};

Runtime& runtime() {
  static Runtime runtime;
  return runtime;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

bool ends_context(cudaError_t error) {
  return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure ||
         error == cudaErrorECCUncorrectable || error == cudaErrorLaunchTimeout;
}

/// Lets some streams get ahead by some operations.
void shuffle_ahead(Runtime& state) {
  if (state.order != StreamOrder::kShuffled) return;
  for (const auto& stream : state.streams) {
    const std::uint64_t steps = state.random() % 4;
    const std::uint64_t goal = std::min(stream->position(), stream->completed + steps);
    run_to(*stream, goal);
  }
}

/// One call of the runtime: counts it, fails it when that was asked for, and does it.
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

void enqueue(Runtime& state, cudaStream_t stream, StreamState::Operation operation);

void check_range(const char* what, bool inside) {
  if (!inside) throw Misuse(std::string("a copy or memset goes beyond ") + what);
}

template <class Map, class Size>
bool contains(const Map& blocks, const void* at, std::size_t bytes, Size size) {
  char* const first = static_cast<char*>(const_cast<void*>(at));
  auto block = blocks.upper_bound(first);
  if (block == blocks.begin()) return false;
  --block;
  return first + bytes <= block->first + size(block->second);
}

bool in_device(const Runtime& state, const void* at, std::size_t bytes) {
  return contains(state.device_memory, at, bytes, [](const Allocation& a) { return a.bytes; });
}

bool in_pinned(const Runtime& state, const void* at, std::size_t bytes) {
  return contains(state.pinned_memory, at, bytes, [](std::size_t size) { return size; });
}

void run_all(Runtime& state) {
  for (const auto& stream : state.streams)
    run_to(*stream, stream->position());
}

bool takes_this(std::pair<std::string, int>& plan, const std::string& name) {
  return plan.second > 0 && name.find(plan.first) != std::string::npos && --plan.second == 0;
}

void check_launch(const Runtime& state, const Launch& launch, const void* kernel) {
  const dim3& grid = launch.grid;
  const dim3& block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647U &&
                         grid.y <= 65535 && grid.z <= 65535;
  if (threads == 0 || threads > 1024 || block.z > 64 || !grid_fits) {
    throw Misuse(std::string(launch.kernel) + ": invalid launch configuration");
  }
  std::size_t limit = 48 * 1024;
  if (const auto allowed = state.shared_limits.find(kernel); allowed != state.shared_limits.end()) {
    limit = static_cast<std::size_t>(allowed->second);
  }
  if (launch.shared_bytes >
      std::min(limit, std::max<std::size_t>(state.model.shared_per_block, 48 * 1024))) {
    throw Misuse(std::string(launch.kernel) + ": more dynamic shared memory than it was allowed");
  }
}

}  // namespace

void reset_runtime(const DeviceModel& model, StreamOrder order, std::uint64_t seed) {
  Runtime& state = runtime();
  const std::lock_guard lock(state.mutex);
  state.model = model;
  state.order = order;
  state.random.seed(seed);
  state.peak = state.used();
  state.faults.clear();
  state.skipped_launch = {};
  state.lost = {};
  state.calls.clear();
  state.ended = cudaSuccess;
  last_error = cudaSuccess;
}

void fail_call(const std::string& name, int nth, cudaError_t error) {
  const std::lock_guard lock(runtime().mutex);
  runtime().faults[name] = {nth, error};
}

void skip_launch(const std::string& kernel, int nth) {
  const std::lock_guard lock(runtime().mutex);
  runtime().skipped_launch = {kernel, nth};
}

void lose_downloads(std::size_t bytes, int nth, int times) {
  const std::lock_guard lock(runtime().mutex);
  runtime().lost = {bytes, nth - 1, times};
}

std::size_t device_bytes() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().used();
}

std::size_t peak_device_bytes() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().peak;
}

int live_objects() {
  Runtime& state = runtime();
  const std::lock_guard lock(state.mutex);
  return static_cast<int>(state.device_memory.size() + state.pinned_memory.size() +
                          state.streams.size()) +
         state.events;
}

int calls_of(const std::string& name) {
  const std::lock_guard lock(runtime().mutex);
  return runtime().calls[name];
}

}  // namespace bulksim::emulator

using namespace bulksim::emulator;  // the functions below have the runtime's own names

struct CUstream_st {
  std::shared_ptr<StreamState> state = std::make_shared<StreamState>();
};

struct CUevent_st {
  std::shared_ptr<StreamState> stream;
  std::uint64_t position = 0;
};

namespace bulksim::emulator {

namespace {

void enqueue(Runtime& state, cudaStream_t stream, StreamState::Operation operation) {
  if (stream == nullptr) throw Misuse("work was put on the default stream");
  stream->state->operations.push_back(std::move(operation));
  if (state.order == StreamOrder::kAtOnce) run_to(*stream->state, stream->state->position());
}

}  // namespace

void enqueue_launch(const Launch& launch, const void* kernel, cudaStream_t stream,
                    std::function<void()> body) {
  static_cast<void>(call("cudaLaunchKernel", [&](Runtime& state) {
    check_launch(state, launch, kernel);
    if (takes_this(state.skipped_launch, launch.kernel)) return cudaSuccess;
    enqueue(state, stream, {[launch, body] { run(launch, body); }, nullptr, 0});
    return cudaSuccess;
  }));
}

void enqueue_work(cudaStream_t stream, std::function<void()> work) {
  static_cast<void>(call("cudaLaunchKernel", [&](Runtime& state) {
    enqueue(state, stream, {std::move(work), nullptr, 0});
    return cudaSuccess;
  }));
}

}  // namespace bulksim::emulator

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "emulated fault";
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&](Runtime& state) {
    *count = state.model.devices;
    return state.model.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&](Runtime& state) {
    if (device < 0 || device >= state.model.devices) return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", [&](Runtime& state) {
    std::memset(properties, 0, sizeof *properties);
    std::snprintf(properties->name, sizeof properties->name, "emulated device");
    for (int i = 0; i < 16; ++i)
      properties->uuid.bytes[i] = static_cast<char>(i + device);
    properties->multiProcessorCount = state.model.multiprocessors;
    properties->sharedMemPerBlockOptin = state.model.shared_per_block;
    properties->totalGlobalMem = state.model.memory;
    properties->major = 9;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call("cudaDeviceGetPCIBusId", [&](Runtime&) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  return call("cudaMemGetInfo", [&](Runtime& state) {
    *total = state.model.memory;
    *free_bytes = state.model.memory - state.used();
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return call("cudaMalloc", [&](Runtime& state) {
    if (state.used() + bytes > state.model.memory) return cudaErrorMemoryAllocation;
    *memory = std::malloc(bytes);
    std::memset(*memory, 0xFF, bytes);
    state.device_memory[static_cast<char*>(*memory)] = {bytes, current_device};
    state.peak = std::max(state.peak, state.used());
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* memory) {
  return call("cudaFree", [&](Runtime& state) {
    run_all(state);  // as on a device, which finishes its work first
    if (memory == nullptr) return cudaSuccess;
    if (state.device_memory.erase(static_cast<char*>(memory)) == 0) return cudaErrorInvalidValue;
    std::free(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&](Runtime& state) {
    *memory = std::malloc(bytes);
    std::memset(*memory, 0xFF, bytes);
    state.pinned_memory[static_cast<char*>(*memory)] = bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* memory) {
  return call("cudaFreeHost", [&](Runtime& state) {
    run_all(state);
    if (state.pinned_memory.erase(static_cast<char*>(memory)) == 0) return cudaErrorInvalidValue;
    std::free(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](Runtime& state) {
    const bool up = kind == cudaMemcpyHostToDevice;
    const bool down = kind == cudaMemcpyDeviceToHost;
    check_range("device memory",
                (up || in_device(state, from, bytes)) && (down || in_device(state, to, bytes)));
    check_range("pinned host memory",
                (!up || in_pinned(state, from, bytes)) && (!down || in_pinned(state, to, bytes)));
    const bool lost = down && state.lost.takes(bytes);
    enqueue(state, stream,
            {[=] { lost ? std::memset(to, 0, bytes) : std::memcpy(to, from, bytes); }, nullptr, 0});
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&](Runtime& state) {
    check_range("device memory", in_device(state, to, bytes));
    enqueue(state, stream, {[=] { std::memset(to, value, bytes); }, nullptr, 0});
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call("cudaStreamCreateWithFlags", [&](Runtime& state) {
    *stream = new CUstream_st;
    state.streams.push_back((*stream)->state);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&](Runtime& state) {
    run_to(*stream->state, stream->state->position());
    std::erase(state.streams, stream->state);
    delete stream;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&](Runtime&) {
    run_to(*stream->state, stream->state->position());
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&](Runtime& state) {
    if (event->stream) enqueue(state, stream, {nullptr, event->stream, event->position});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return call("cudaEventCreateWithFlags", [&](Runtime& state) {
    *event = new CUevent_st;
    ++state.events;
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&](Runtime& state) {
    delete event;
    --state.events;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&](Runtime&) {
    *event = {stream->state, stream->state->position()};
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&](Runtime&) {
    if (event->stream) run_to(*event->stream, event->position);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call("cudaFuncSetAttribute", [&](Runtime& state) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      if (value > static_cast<int>(state.model.shared_per_block)) return cudaErrorInvalidValue;
      state.shared_limits[kernel] = value;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
