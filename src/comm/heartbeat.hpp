#pragma once

#include <memory>

#include "core/run/watchdog.hpp"

namespace bulksim::mpi {

/// Sends heartbeats from every rank to rank 0 and from rank 0 to every rank, on its own thread. A
/// rank may compute for hours while others wait for it, but is detected when its process hangs or
/// dies.
class Heartbeat {
 public:
  Heartbeat() = default;
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  virtual ~Heartbeat() = default;
};

/// Ranks that have sent no heartbeat for `deadline_seconds`, and ranks on this host whose process
/// has died, are reported to `watchdog`, which ends this process. Collective; destruction is also
/// collective.
std::unique_ptr<Heartbeat> make_heartbeat(double deadline_seconds, Watchdog& watchdog);

}  // namespace bulksim::mpi
