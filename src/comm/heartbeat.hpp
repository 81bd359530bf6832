#pragma once

#include <memory>

#include "core/run/watchdog.hpp"

namespace bulksim::mpi {

/// A sign of life of every rank to rank 0, and of rank 0 to every rank, on a thread of its own: so
/// that a rank may compute for hours while others wait for it, and yet is missed when it hangs as a
/// whole, or has died.
class Heartbeat {
 public:
  Heartbeat() = default;
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  virtual ~Heartbeat() = default;
};

/// Ranks that were silent for `deadline_seconds`, and ranks of this host whose process is gone, are
/// named to `watchdog`, which ends this process. All ranks make and end their pulses together.
std::unique_ptr<Heartbeat> make_heartbeat(double deadline_seconds, Watchdog& watchdog);

}  // namespace bulksim::mpi
