#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulator/device/fiber.hpp"
#include "emulator/device/machine.hpp"
#include "emulator/device/shared_memory.hpp"

namespace bulksim::emulator {

inline constexpr unsigned kWarpSize = 32;
inline constexpr std::size_t kSharedAlignment = 16;
inline constexpr std::size_t kSharedVariables = 256;  // per kernel; more than any kernel has

/// Thrown inside a thread of a launch that has failed: its stack unwinds.
struct Abandoned {};

enum class State : unsigned char { kReady, kAtBarrier, kAtWarpOperation, kEnded };

struct Warp;

struct Thread {
  Fiber fiber;
  Place place{};
  Warp* warp = nullptr;
  State state = State::kEnded;
  WarpCall call{};           // while at a warp operation
  std::uint64_t result = 0;  // of the last one
  Site site{};               // of the barrier or warp operation it waits at
};

struct Warp {
  Thread* lanes = nullptr;
  unsigned live = 0;
  unsigned waiting = 0;            // lanes at a warp operation
  char tokens[kWarpSize][2] = {};  // by lowest lane of the mask, and parity of the operation
  unsigned char parity[kWarpSize] = {};
};

/// State of a running block. Blocks alternate between two of these, so that neighbouring blocks
/// share no token and a race between them is detected.
struct BlockState {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  char barrier_tokens[2] = {};
  char shared_token = 0;
};

/// The scheduler of one host thread.
class Scheduler {
 public:
  // A thread of the kernel that creates a variable must not free what another has seen.
  Scheduler() { variables_.reserve(kSharedVariables); }
  void run(const Launch& launch, const std::function<void()>& body);
  unsigned barrier(bool predicate, Site site);
  std::uint64_t warp_operation(const WarpCall& call);
  std::byte* dynamic_shared() const { return dynamic_shared_; }
  void* static_shared(const void* key, std::size_t bytes, std::size_t alignment);
  unsigned live_lanes() const { return current_->warp->live; }
  const Place& place() const { return current_->place; }
  [[noreturn]] void fail(Site site, const std::string& what);

 private:
  static void thread_main(void* machine);
  void begin_block(std::uint64_t block);
  void run_block(std::uint64_t block);
  void resume(Thread& thread);
  void wait(State state, Site site);
  void ready_all(State state);
  void unwind();
  void report_deadlock();
  void complete(Warp& warp, unsigned mask);
  void check_call(const Warp& warp, const WarpCall& call);
  template <class Sequence>
  void arrange(Sequence& sequence);

  BlockState states_[2];
  BlockState* state_ = nullptr;
  const Launch* launch_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  std::vector<unsigned> order_;  // of the threads of a block
  Thread* current_ = nullptr;
  unsigned threads_ = 0;
  unsigned live_ = 0;
  unsigned at_barrier_ = 0;
  unsigned predicates_ = 0;
  unsigned barrier_result_ = 0;
  unsigned barrier_phase_ = 0;
  std::byte* dynamic_shared_ = nullptr;
  std::vector<std::pair<const void*, void*>> variables_;  // static shared memory of the block
  std::list<SharedMemory> memory_;
  std::string failure_;
  std::mt19937_64 random_;
  char start_token_ = 0;
  char end_token_ = 0;
};

/// The scheduler of this host thread.
Scheduler& scheduler();

}  // namespace bulksim::emulator
