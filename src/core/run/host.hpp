#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bulksim {

/// Name of this host; "unknown" where it has none.
std::string host_name();

/// What tells a process from all others, on any host and at any time.
struct ProcessInfo {
  std::string host;
  std::string boot_id;        ///< of the running system; empty where it has none
  std::string pid_namespace;  ///< within which `pid` means something
  std::int64_t pid = 0;
  std::int64_t start_time = 0;  ///< in ticks since boot

  /// Where process numbers mean the same.
  std::string process_space() const { return boot_id + pid_namespace; }
  bool operator==(const ProcessInfo&) const = default;
};

ProcessInfo this_process();

/// Whether the process of this machine with this number and start time is alive.
bool is_running(std::int64_t pid, std::int64_t start_time);

/// Time as a program sees and spends it; tests put one of their own in its place.
struct Clock {
  std::function<double()> now;  ///< seconds, never stepping
  std::function<void(double seconds)> wait;
};

Clock steady_clock();

}  // namespace bulksim
