#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace bulksim {

enum class Counts { kMayDiffer, kMustAgree };

/// The call of a rank.
struct Calling {
  const char* call;  ///< at most 23 characters
  std::int64_t count;
  Counts rule;
};

/// The collective check: compares the calls of all ranks before any data moves and returns the
/// counts of all ranks. Throws the same Error (70) on all ranks when the calls differ. Collective
/// in `control`.
std::vector<std::int64_t> check_collective(Communicator& control, const Calling& mine);

/// Returns the value of rank 0 on every rank.
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
