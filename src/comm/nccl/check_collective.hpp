#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace bulksim {

enum class Counts { kMayDiffer, kMustAgree };

/// What a rank is about to do.
struct Calling {
  const char* call;  ///< at most 23 characters
  std::int64_t count;
  Counts rule;
};

/// Compares what the ranks are about to do, before any data moves; returns the counts of all ranks.
/// Throws the same Error (70) at all when they differ. A collective of `control`.
std::vector<std::int64_t> check_collective(Communicator& control, const Calling& mine);

/// A value of rank 0 at every rank.
template <class T>
T broadcast_value(Communicator& control, const T& value) {
  const auto view = std::as_bytes(std::span(&value, 1));
  std::vector<std::byte> bytes(view.begin(), view.end());
  control.broadcast(bytes);
  T arrived{};
  std::memcpy(&arrived, bytes.data(), sizeof arrived);
  return arrived;
}

}  // namespace bulksim
