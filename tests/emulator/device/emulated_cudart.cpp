// The functions of the CUDA runtime that the backend calls.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/device/machine.hpp"
#include "emulator/device/runtime_state.hpp"

using namespace bulksim::emulator;  // the functions below have the names of the runtime

namespace {

void check_range(const char* what, bool inside) {
  if (!inside) throw Misuse(std::string("a copy or memset exceeds ") + what);
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

}  // namespace

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
    properties->l2CacheSize = 4 << 20;
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
    run_all(state);  // like a device, which finishes its work first
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

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&](Runtime& state) {
    if (!event->stream) return cudaSuccess;
    if (state.stalled) return cudaErrorNotReady;
    run_to(*event->stream, event->position);  // as if the device had been fast enough
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
