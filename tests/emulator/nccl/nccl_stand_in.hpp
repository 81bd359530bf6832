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
  kPeerIsLost,  ///< what was called never comes to its end
};

/// For the names of tests.
std::string name_of(Fault fault);

/// A rank's part of a call whose data moves once all it needs have come.
struct Part {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  bool here = false;
};
using Parts = std::array<Part, kRanks>;

/// What the stand-in knows of all ranks, and what goes wrong.
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

/// That of the test at work.
extern Library* library;
/// Of the thread.
extern thread_local int this_rank;

extern const nccl::Calls kCalls;

}  // namespace bulksim::nccl_stand_in
