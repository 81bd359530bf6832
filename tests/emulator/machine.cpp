// Compiled without -fsanitize=thread, as fiber.cpp is.
#include "machine.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "fiber.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace bulksim::emulator {

namespace {

constexpr unsigned kWarpSize = 32;
constexpr std::size_t kSharedAlignment = 16;
constexpr std::size_t kSharedVariables = 256;  // of one kernel; more than any has

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

/// What a block needs while it runs. Blocks take turns with two of these, so that neighbouring
/// blocks have no token in common and a race between them shows.
struct BlockState {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  char barrier_tokens[2] = {};
  char shared_token = 0;
};

/// Memory that ends exactly where it should; freed when the launch is over.
class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, std::size_t alignment)
      : bytes_(bytes), reserved_((bytes + alignment - 1) / alignment * alignment) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, reserved_)));
    std::memset(memory_.get(), 0xFF, reserved_);
    mark_end(true);
  }
  ~SharedMemory() {
    if (memory_) mark_end(false);
  }
  SharedMemory(SharedMemory&&) = default;
  SharedMemory& operator=(SharedMemory&&) = delete;

  std::byte* data() const { return memory_.get(); }

 private:
  void mark_end([[maybe_unused]] bool poisoned) const {
#ifdef __SANITIZE_ADDRESS__
    if (poisoned) __asan_poison_memory_region(data() + bytes_, reserved_ - bytes_);
    if (!poisoned) __asan_unpoison_memory_region(data() + bytes_, reserved_ - bytes_);
#endif
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::size_t reserved_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// The scheduler of one host thread.
class Machine {
 public:
  // A thread of the kernel that makes a variable must not free what another has seen.
  Machine() { variables_.reserve(kSharedVariables); }
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

template <class Sequence>
void Machine::arrange(Sequence& sequence) {
  if (settings().order == ThreadOrder::kRandom) {
    std::shuffle(sequence.begin(), sequence.end(), random_);
  }
}

void Machine::run(const Launch& launch, const std::function<void()>& body) {
  launch_ = &launch;
  body_ = &body;
  failure_.clear();
  random_.seed(settings().seed);
  threads_ = launch.block.x * launch.block.y * launch.block.z;
  order_.resize(threads_);
  std::iota(order_.begin(), order_.end(), 0U);
  std::vector<std::uint64_t> blocks(std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z);
  std::iota(blocks.begin(), blocks.end(), std::uint64_t{0});
  if (settings().order == ThreadOrder::kReverse) {
    std::reverse(order_.begin(), order_.end());
    std::reverse(blocks.begin(), blocks.end());
  }
  arrange(blocks);
  for (std::size_t at = 0; at < blocks.size() && failure_.empty(); ++at) {
    state_ = &states_[at % 2];
    run_block(blocks[at]);
  }
  acquire(&end_token_);
  memory_.clear();
  if (!failure_.empty()) throw Misuse(std::string(launch.kernel) + ": " + failure_);
}

void Machine::begin_block(std::uint64_t block) {
  const Launch& launch = *launch_;
  if (state_->threads.size() < threads_) state_->threads.resize(threads_);
  state_->warps.assign((threads_ + kWarpSize - 1) / kWarpSize, Warp{});
  live_ = threads_;
  at_barrier_ = predicates_ = 0;
  variables_.clear();
  dynamic_shared_ = nullptr;
  if (launch.shared_bytes > 0) {
    dynamic_shared_ = memory_.emplace_back(launch.shared_bytes, kSharedAlignment).data();
  }
  const dim3 extent = launch.block;
  const uint3 index{static_cast<unsigned>(block % launch.grid.x),
                    static_cast<unsigned>(block / launch.grid.x % launch.grid.y),
                    static_cast<unsigned>(block / launch.grid.x / launch.grid.y)};
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = state_->threads[i];
    Warp& warp = state_->warps[i / kWarpSize];
    if (i % kWarpSize == 0) warp.lanes = &thread;
    warp.live |= 1U << (i % kWarpSize);
    thread.place = {{i % extent.x, i / extent.x % extent.y, i / (extent.x * extent.y)},
                    index,
                    extent,
                    launch.grid,
                    i % kWarpSize};
    thread.warp = &warp;
    thread.state = State::kReady;
    thread.fiber.start(thread_main, this);
  }
}

void Machine::run_block(std::uint64_t block) {
  begin_block(block);
  release(&start_token_);
  while (live_ > 0 && failure_.empty()) {
    bool moved = false;
    arrange(order_);
    for (const unsigned i : order_) {
      Thread& thread = state_->threads[i];
      if (thread.state != State::kReady || !failure_.empty()) continue;
      resume(thread);
      moved = true;
    }
    if (!moved) report_deadlock();
  }
  if (!failure_.empty()) unwind();
}

void Machine::resume(Thread& thread) {
  current_ = &thread;
  thread.fiber.resume();
  current_ = nullptr;
}

void Machine::unwind() {
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = state_->threads[i];
    if (thread.fiber.running()) resume(thread);
  }
}

void Machine::thread_main(void* argument) {
  Machine& machine = *static_cast<Machine*>(argument);
  Thread& thread = *machine.current_;
  acquire(&machine.start_token_);
  try {
    if (machine.failure_.empty()) (*machine.body_)();
    if (machine.at_barrier_ > 0 && machine.failure_.empty()) {
      machine.failure_ = "a thread left the kernel while others wait at __syncthreads";
    }
  } catch (const Abandoned&) {
  }
  thread.state = State::kEnded;
  thread.warp->live &= ~(1U << thread.place.lane);
  --machine.live_;
  release(&machine.end_token_);
}

void Machine::report_deadlock() {
  failure_ = "deadlock:";
  unsigned shown = 0;
  for (unsigned i = 0; i < threads_ && shown < 4; ++i) {
    const Thread& thread = state_->threads[i];
    if (thread.state == State::kEnded) continue;
    ++shown;
    failure_ += " thread " + std::to_string(i) + " waits at line " +
                std::to_string(thread.site.line) +
                (thread.state == State::kAtBarrier ? " for the block;" : " for its warp;");
  }
}

void Machine::fail(Site site, const std::string& what) {
  failure_ = std::string(site.file) + ":" + std::to_string(site.line) + ": " + what;
  throw Abandoned{};
}

void Machine::wait(State state, Site site) {
  Thread& thread = *current_;
  thread.state = state;
  thread.site = site;
  thread.fiber.suspend();
  if (!failure_.empty()) throw Abandoned{};
}

void Machine::ready_all(State state) {
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = state_->threads[i];
    if (thread.state == state) thread.state = State::kReady;
  }
}

unsigned Machine::barrier(bool predicate, Site site) {
  if (live_ != threads_) fail(site, "__syncthreads after a thread has left the kernel");
  for (unsigned i = 0; i < threads_ && at_barrier_ > 0; ++i) {
    const Thread& other = state_->threads[i];
    if (other.state == State::kAtBarrier && !(other.site == site)) {
      fail(site, "others wait at the __syncthreads of line " + std::to_string(other.site.line));
    }
    if (other.state == State::kAtBarrier) break;
  }
  char* const token = &state_->barrier_tokens[barrier_phase_ % 2];
  release(token);
  predicates_ += predicate ? 1U : 0U;
  if (++at_barrier_ < threads_) {
    wait(State::kAtBarrier, site);
  } else {
    barrier_result_ = predicates_;
    at_barrier_ = predicates_ = 0;
    ++barrier_phase_;
    ready_all(State::kAtBarrier);
    // the last to come need not be the first to go on
    if (settings().order != ThreadOrder::kForward) wait(State::kReady, site);
  }
  acquire(token);
  return barrier_result_;
}

void Machine::check_call(const Warp& warp, const WarpCall& call) {
  const unsigned lane = current_->place.lane;
  if ((call.mask >> lane & 1U) == 0) fail(call.site, "the mask leaves out the lane that calls");
  if ((call.mask & ~warp.live) != 0) {
    fail(call.site, "the mask names lanes that have left the kernel");
  }
  for (unsigned others = call.mask & warp.waiting; others != 0; others &= others - 1) {
    const WarpCall& other = warp.lanes[std::countr_zero(others)].call;
    const bool needs_this_lane = (other.mask >> lane & 1U) != 0;  // which is elsewhere, for good
    if (needs_this_lane && (other.mask != call.mask || !(other.site == call.site))) {
      fail(call.site, "another lane of the mask waits at the warp operation of line " +
                          std::to_string(other.site.line));
    }
  }
}

void Machine::complete(Warp& warp, unsigned mask) {
  std::uint64_t values[kWarpSize] = {};
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (mask >> lane & 1U) values[lane] = warp.lanes[lane].call.value;
  }
  warp.waiting &= ~mask;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    Thread& thread = warp.lanes[lane];
    thread.result = thread.call.collect(values, mask, thread.call.argument);
    if (thread.state == State::kAtWarpOperation) thread.state = State::kReady;
  }
}

std::uint64_t Machine::warp_operation(const WarpCall& asked) {
  Thread& thread = *current_;
  Warp& warp = *thread.warp;
  WarpCall call = asked;
  const auto first = static_cast<unsigned>(warp.lanes - state_->threads.data());
  const unsigned lanes = std::min(kWarpSize, threads_ - first);
  if (call.mask == ~0U) call.mask >>= kWarpSize - lanes;  // a short last warp
  check_call(warp, call);
  const int lowest = std::countr_zero(call.mask);
  char* const token = &warp.tokens[lowest][warp.parity[lowest]];
  if (call.order == MemoryOrder::kOrdered) release(token);
  thread.call = call;
  warp.waiting |= 1U << thread.place.lane;
  if ((warp.waiting & call.mask) != call.mask) {
    wait(State::kAtWarpOperation, call.site);
  } else {
    warp.parity[lowest] ^= 1;
    complete(warp, call.mask);
    if (settings().order != ThreadOrder::kForward) wait(State::kReady, call.site);
  }
  if (call.order == MemoryOrder::kOrdered) acquire(token);
  return thread.result;
}

void* Machine::static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  for (const auto& [known, memory] : variables_) {
    if (known != key) continue;
    acquire(&state_->shared_token);
    return memory;
  }
  void* memory = memory_.emplace_back(bytes, std::max(alignment, kSharedAlignment)).data();
  variables_.emplace_back(key, memory);
  release(&state_->shared_token);
  return memory;
}

Machine& machine() {
  static thread_local Machine machine;
  return machine;
}

}  // namespace

Settings& settings() {
  static Settings settings;
  return settings;
}

const Place& place() {
  return machine().place();
}
void run(const Launch& launch, const std::function<void()>& body) {
  machine().run(launch, body);
}
unsigned block_barrier(bool predicate, Site site) {
  return machine().barrier(predicate, site);
}
std::uint64_t warp_operation(const WarpCall& call) {
  return machine().warp_operation(call);
}
unsigned live_lanes() {
  return machine().live_lanes();
}
std::byte* dynamic_shared() {
  return machine().dynamic_shared();
}
void* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  return machine().static_shared(key, bytes, alignment);
}
void misuse(Site site, const std::string& what) {
  machine().fail(site, what);
}

}  // namespace bulksim::emulator
