#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace bulksim::emulator {

/// The line of a kernel that calls into the emulator.
struct Site {
  const char* file = "";
  int line = 0;

  static Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  bool operator==(const Site& other) const { return line == other.line && file == other.file; }
};

/// A kernel or launch does something that CUDA leaves undefined or rejects.
class Misuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Order in which runnable threads, and the blocks of a grid, are run.
enum class ThreadOrder { kForward, kReverse, kRandom };

/// Read at each launch, on any thread; set them while nothing runs.
struct Settings {
  ThreadOrder order = ThreadOrder::kForward;
  std::uint64_t seed = 1;
};
Settings& settings();

/// The position of the running CUDA thread.
struct Place {
  uint3 thread;
  uint3 block;
  dim3 block_extent;
  dim3 grid_extent;
  unsigned lane;
};
const Place& place();

struct Launch {
  const char* kernel;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
};

/// Runs `body` once per thread of the grid, one block after the other, on this host thread. Throws
/// Misuse when a thread breaks a rule; every thread has unwound by then.
void run(const Launch& launch, const std::function<void()>& body);

/// __syncthreads: returns the number of threads with a true predicate.
unsigned block_barrier(bool predicate, Site site);

/// The result of a warp operation for one lane, computed from the values of all lanes of the mask.
using Collect = std::uint64_t (*)(const std::uint64_t* values, unsigned mask, unsigned argument);

/// Whether a warp operation orders memory (__syncwarp does, a shuffle does not).
enum class MemoryOrder { kNone, kOrdered };

/// The arguments of one lane of a warp operation.
struct WarpCall {
  unsigned mask;
  std::uint64_t value;
  Collect collect;
  unsigned argument;
  MemoryOrder order;
  Site site;
};

/// Waits for all lanes of the mask.
std::uint64_t warp_operation(const WarpCall& call);
unsigned live_lanes();

/// Shared memory of the block, filled with 0xFF to expose reads before the first write.
std::byte* dynamic_shared();
/// The variable `key` of the block; created on first use.
void* static_shared(const void* key, std::size_t bytes, std::size_t alignment);

/// Ends the launch with a Misuse that names the line. Called from a kernel.
[[noreturn]] void misuse(Site site, const std::string& what);

}  // namespace bulksim::emulator
