// Barriers and warp operations: where threads wait for each other. Compiled without
// -fsanitize=thread, as fiber.cpp is.
#include <algorithm>
#include <bit>

#include "emulator/device/scheduler.hpp"

namespace bulksim::emulator {

unsigned Scheduler::barrier(bool predicate, Site site) {
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
    // the last to arrive need not be the first to resume
    if (settings().order != ThreadOrder::kForward) wait(State::kReady, site);
  }
  acquire(token);
  return barrier_result_;
}

void Scheduler::check_call(const Warp& warp, const WarpCall& call) {
  const unsigned lane = current_->place.lane;
  if ((call.mask >> lane & 1U) == 0)
    fail(call.site, "the mask does not contain the lane that calls");
  if ((call.mask & ~warp.live) != 0) {
    fail(call.site, "the mask names lanes that have left the kernel");
  }
  for (unsigned others = call.mask & warp.waiting; others != 0; others &= others - 1) {
    const WarpCall& other = warp.lanes[std::countr_zero(others)].call;
    const bool needs_this_lane =
        (other.mask >> lane & 1U) != 0;  // it waits elsewhere and never arrives
    if (needs_this_lane && (other.mask != call.mask || !(other.site == call.site))) {
      fail(call.site, "another lane of the mask waits at the warp operation of line " +
                          std::to_string(other.site.line));
    }
  }
}

void Scheduler::complete(Warp& warp, unsigned mask) {
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

std::uint64_t Scheduler::warp_operation(const WarpCall& asked) {
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

}  // namespace bulksim::emulator
