// The implementation behind the functions of the emulated CUDA runtime: streams, faults, launches.
#include "emulator/device/emulated_runtime.hpp"

#include "emulator/device/cuda_emulator.hpp"
#include "emulator/device/runtime_state.hpp"

namespace bulksim::emulator {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

Runtime& runtime() {
  static Runtime runtime;
  return runtime;
}

void run_to(StreamState& stream, std::uint64_t position) {
  while (stream.completed < position) {
    const StreamState::Operation operation = std::move(stream.operations.front());
    stream.operations.pop_front();
    if (operation.awaited) run_to(*operation.awaited, operation.position);
    if (operation.work) operation.work();
    ++stream.completed;
  }
}

bool ends_context(cudaError_t error) {
  return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure ||
         error == cudaErrorECCUncorrectable || error == cudaErrorLaunchTimeout;
}

void shuffle_ahead(Runtime& state) {
  if (state.order != StreamOrder::kShuffled) return;
  for (const auto& stream : state.streams) {
    const std::uint64_t steps = state.random() % 4;
    const std::uint64_t goal = std::min(stream->position(), stream->completed + steps);
    run_to(*stream, goal);
  }
}

void run_all(Runtime& state) {
  for (const auto& stream : state.streams)
    run_to(*stream, stream->position());
}

void enqueue(Runtime& state, cudaStream_t stream, StreamState::Operation operation) {
  if (stream == nullptr) throw Misuse("work was put on the default stream");
  stream->state->operations.push_back(std::move(operation));
  if (state.order == StreamOrder::kAtOnce) run_to(*stream->state, stream->state->position());
}

namespace {

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
  state.stalled = false;
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

void stall_events() {
  const std::lock_guard lock(runtime().mutex);
  runtime().stalled = true;
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
