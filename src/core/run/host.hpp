#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bulksim {

/// Name of this host, or "unknown".
std::string host_name();

/// Identifies a process uniquely, across hosts and reboots.
struct ProcessInfo {
  std::string host;
  std::string boot_id;        ///< of the running system; empty where /proc has none
  std::string pid_namespace;  ///< in which `pid` is valid
  std::int64_t pid = 0;
  std::int64_t start_time = 0;  ///< in clock ticks since boot

  /// Identifies the boot and namespace in which `pid` is valid.
  std::string process_space() const { return boot_id + pid_namespace; }
  bool operator==(const ProcessInfo&) const = default;
};

ProcessInfo this_process();

/// Whether a process with this number and start time is running on this host.
bool is_running(std::int64_t pid, std::int64_t start_time);

/// Reads the time and sleeps; tests substitute their own.
struct Clock {
  std::function<double()> now;  ///< seconds, monotonic
  std::function<void(double seconds)> wait;
};

Clock steady_clock();

}  // namespace bulksim
