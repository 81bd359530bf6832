#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "bulksim/core/file.hpp"
#include "core/run/host.hpp"
#include "core/run/log.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

/// The holder of an output, and its latest heartbeat.
struct LeaseHolder : ProcessInfo {
  std::string token;      ///< unique per lease
  std::string slurm_job;  ///< empty outside Slurm
  std::int64_t slurm_restart = 0;
  std::string phase;
  std::int64_t counter = 0;  ///< incremented while the holder lives

  bool operator==(const LeaseHolder&) const = default;
};

/// This process in its Slurm job, without a token.
LeaseHolder this_holder();

/// Identity and timing of a process that takes a lease; tests substitute another process and clock.
struct LeaseOptions {
  LeaseHolder self = this_holder();
  /// Whether a process with this number and start time is running on this host.
  std::function<bool(std::int64_t pid, std::int64_t start_time)> runs = is_running;
  Clock clock = steady_clock();
  double heartbeat_seconds = 10.0;
  double expiry_seconds = 30.0;
  double poll_seconds = 0.5;
  /// Called before each wait for a heartbeat of the holder of a lease: an exception ends the wait.
  std::function<void(const std::string& path, const LeaseHolder& holder)> before_wait = nullptr;
};

/// Options of a process that says once why it waits, and waits no longer when a stop is requested.
/// Both must outlive the options.
LeaseOptions lease_options(Log& log, const StopRequest& stop);

/// What is known about a holder without waiting.
enum class Liveness { kAlive, kDead, kUnknown };
Liveness liveness_of(const LeaseHolder& holder, const LeaseOptions& options = {});

/// Reads the holder from a lease file; nothing when there is no file, and a holder without a token
/// when the file is invalid. Throws Error (73) when something other than a file is there.
std::optional<LeaseHolder> read_lease(FileCalls& calls, const std::string& path);

/// The exclusive right to change an output: a file with its holder, created with link(2). Only the
/// local monotonic clock is used, and a live holder is never replaced.
///
/// A holder in the same boot and PID namespace is alive while its process exists. An earlier start
/// of the same Slurm job is dead. Any other holder is alive while its counter changes, and dead
/// when it has not changed for `expiry_seconds`.
class Lease {
 public:
  /// Throws Error (73) with the holder when a live process has the lease.
  static std::unique_ptr<Lease> take(FileCalls& calls, const std::string& path,
                                     LeaseOptions options = {});
  /// Releases the lease unless it was lost.
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Lease(Lease&&) = delete;
  Lease& operator=(Lease&&) = delete;

  /// Starts a thread that renews the lease every `heartbeat_seconds`.
  void keep();
  /// Writes a heartbeat; detects that the lease was lost.
  void renew();
  /// Sets the phase that `bulksim status` shows.
  void set_phase(const std::string& phase);
  bool lost() const { return lost_; }
  /// Throws Error (73) when another process has taken over the lease.
  void check();

 private:
  struct State;
  Lease(FileCalls& calls, std::string path, LeaseOptions options, LeaseHolder holder, File file);

  FileCalls& calls_;
  std::string path_;
  LeaseOptions options_;
  std::unique_ptr<State> state_;
  std::atomic<bool> lost_ = false;
  std::jthread thread_;  // last, because it uses all other members
};

}  // namespace bulksim
