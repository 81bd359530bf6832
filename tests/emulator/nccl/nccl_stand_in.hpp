#pragma once

// A stand-in for NCCL whose ranks are threads of one process.

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "comm/nccl/calls.hpp"

namespace bulksim::nccl_stand_in {

inline constexpr int kRanks = 3;

enum class Fault {
  kNone,
  kOtherVersion,
  kNoIdentity,
  kInitFails,
  kInitHangs,
  kInitFailsLater,
  kCallFails,
  kCallFailsLater,
  kPeerIsLost,  ///< a call never completes
};

/// For test names.
std::string name_of(Fault fault);

/// The part of a rank in a call; its data moves once all needed ranks have joined.
struct Part {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  bool here = false;
};
using Parts = std::array<Part, kRanks>;

/// The state of all ranks, and the fault to simulate.
struct Library {
  std::mutex mutex;
  Fault fault = Fault::kNone;
  int faulty = 0;
  int met = 0;
  int collectives = 0;
  int made = 0;
  std::atomic<int> aborted = 0;
  std::atomic<int> destroyed = 0;
  Parts parts;
};

/// The state of the current test.
extern Library* library;
/// The rank of this thread.
extern thread_local int this_rank;

extern const nccl::Calls kCalls;

}  // namespace bulksim::nccl_stand_in
