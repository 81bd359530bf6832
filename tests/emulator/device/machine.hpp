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

/// A kernel or a launch does what CUDA leaves undefined or refuses.
class Misuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Order in which the threads that can go on are run, and the blocks of a grid.
enum class ThreadOrder { kForward, kReverse, kRandom };

/// Read at each launch, on whatever thread it happens; set them while nothing is at work.
struct Settings {
  ThreadOrder order = ThreadOrder::kForward;
  std::uint64_t seed = 1;
};
Settings& settings();

/// Where the running CUDA thread is.
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

/// Runs `body` once for each thread of the grid, one block after the other, on this host thread.
/// Throws Misuse when a thread breaks a rule; every thread has unwound by then.
void run(const Launch& launch, const std::function<void()>& body);

/// __syncthreads: how many threads came with a true predicate.
unsigned block_barrier(bool predicate, Site site);

/// What one lane gets out of a warp operation: made from the values of all lanes of the mask.
using Collect = std::uint64_t (*)(const std::uint64_t* values, unsigned mask, unsigned argument);

/// Whether a warp operation orders memory (__syncwarp does, a shuffle does not).
enum class MemoryOrder { kNone, kOrdered };

/// What one lane brings to a warp operation.
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

/// Shared memory of the block, filled with 0xFF: a read before the first write shows.
std::byte* dynamic_shared();
/// The variable `key` of the block; made when its first thread asks.
void* static_shared(const void* key, std::size_t bytes, std::size_t alignment);

/// Ends the launch with a Misuse that names the place. Called from a kernel.
[[noreturn]] void misuse(Site site, const std::string& what);

}  // namespace bulksim::emulator
