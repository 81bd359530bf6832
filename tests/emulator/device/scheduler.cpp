// Compiled without -fsanitize=thread, as fiber.cpp is.
#include "emulator/device/scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "emulator/device/scheduler.hpp"

namespace bulksim::emulator {

template <class Sequence>
void Scheduler::arrange(Sequence& sequence) {
  if (settings().order == ThreadOrder::kRandom) {
    std::shuffle(sequence.begin(), sequence.end(), random_);
  }
}

void Scheduler::run(const Launch& launch, const std::function<void()>& body) {
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

void Scheduler::begin_block(std::uint64_t block) {
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

void Scheduler::run_block(std::uint64_t block) {
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

void Scheduler::resume(Thread& thread) {
  current_ = &thread;
  thread.fiber.resume();
  current_ = nullptr;
}

void Scheduler::unwind() {
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = state_->threads[i];
    if (thread.fiber.running()) resume(thread);
  }
}

void Scheduler::thread_main(void* argument) {
  Scheduler& scheduler = *static_cast<Scheduler*>(argument);
  Thread& thread = *scheduler.current_;
  acquire(&scheduler.start_token_);
  try {
    if (scheduler.failure_.empty()) (*scheduler.body_)();
    if (scheduler.at_barrier_ > 0 && scheduler.failure_.empty()) {
      scheduler.failure_ = "a thread left the kernel while others wait at __syncthreads";
    }
  } catch (const Abandoned&) {
  }
  thread.state = State::kEnded;
  thread.warp->live &= ~(1U << thread.place.lane);
  --scheduler.live_;
  release(&scheduler.end_token_);
}

void Scheduler::report_deadlock() {
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

void Scheduler::fail(Site site, const std::string& what) {
  failure_ = std::string(site.file) + ":" + std::to_string(site.line) + ": " + what;
  throw Abandoned{};
}

void Scheduler::wait(State state, Site site) {
  Thread& thread = *current_;
  thread.state = state;
  thread.site = site;
  thread.fiber.suspend();
  if (!failure_.empty()) throw Abandoned{};
}

void Scheduler::ready_all(State state) {
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = state_->threads[i];
    if (thread.state == state) thread.state = State::kReady;
  }
}

void* Scheduler::static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
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

Scheduler& scheduler() {
  static thread_local Scheduler scheduler;
  return scheduler;
}

Settings& settings() {
  static Settings settings;
  return settings;
}

const Place& place() {
  return scheduler().place();
}
void run(const Launch& launch, const std::function<void()>& body) {
  scheduler().run(launch, body);
}
unsigned block_barrier(bool predicate, Site site) {
  return scheduler().barrier(predicate, site);
}
std::uint64_t warp_operation(const WarpCall& call) {
  return scheduler().warp_operation(call);
}
unsigned live_lanes() {
  return scheduler().live_lanes();
}
std::byte* dynamic_shared() {
  return scheduler().dynamic_shared();
}
void* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  return scheduler().static_shared(key, bytes, alignment);
}
void misuse(Site site, const std::string& what) {
  scheduler().fail(site, what);
}

}  // namespace bulksim::emulator
