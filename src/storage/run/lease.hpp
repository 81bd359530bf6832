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

namespace bulksim {

/// Who holds an output, and since when nothing was heard of it.
struct LeaseHolder : ProcessInfo {
  std::string token;      ///< of this one lease
  std::string slurm_job;  ///< empty outside of Slurm
  std::int64_t slurm_restart = 0;
  std::string phase;
  std::int64_t counter = 0;  ///< rises while the holder lives

  bool operator==(const LeaseHolder&) const = default;
};

/// This process in its Slurm job, without a token.
LeaseHolder this_holder();

/// Who takes a lease, and how long it waits; tests put another process and clock in their place.
struct LeaseOptions {
  LeaseHolder self = this_holder();
  /// Whether a process of this machine with this start time is alive.
  std::function<bool(std::int64_t pid, std::int64_t start_time)> runs = is_running;
  Clock clock = steady_clock();
  double heartbeat_seconds = 10.0;
  double expiry_seconds = 30.0;
  double poll_seconds = 0.5;
};

/// What can be said of a holder without waiting.
enum class Liveness { kAlive, kDead, kUnknown };
Liveness liveness_of(const LeaseHolder& holder, const LeaseOptions& options = {});

/// The holder that a lease file names; nothing when there is no file, and a holder without a token
/// when the file cannot be understood.
std::optional<LeaseHolder> read_lease(FileCalls& calls, const std::string& path);

/// The one right to change an output. It is a file made with link(2), which names its holder; no
/// clock but the own monotonic one counts, and a live holder is never replaced.
///
/// Holder on the same boot and in the same namespace of processes: its process decides at once.
/// An earlier start of the same Slurm job: dead. Anywhere else: alive while its counter rises, dead
/// when it has stood still for `expiry_seconds`.
class Lease {
 public:
  /// Throws Error (73), which names the holder, when somebody alive has it.
  static std::unique_ptr<Lease> take(FileCalls& calls, const std::string& path,
                                     LeaseOptions options = {});
  /// Gives the lease back when it is still ours.
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Lease(Lease&&) = delete;
  Lease& operator=(Lease&&) = delete;

  /// Renews the lease every `heartbeat_seconds` on a thread of its own.
  void keep();
  /// Shows a sign of life; sees when the lease is lost.
  void renew();
  /// What `status` shows.
  void set_phase(const std::string& phase);
  bool lost() const { return lost_; }
  /// Throws Error (73) when another process has taken the lease over.
  void check();

 private:
  struct State;
  Lease(FileCalls& calls, std::string path, LeaseOptions options, LeaseHolder holder, File file);

  FileCalls& calls_;
  std::string path_;
  LeaseOptions options_;
  std::unique_ptr<State> state_;
  std::atomic<bool> lost_ = false;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace bulksim
