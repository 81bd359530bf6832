#pragma once

#include <limits>
#include <string>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim {

/// Thrown at points where work can stop, after a stop was requested. Finished work is kept, and the
/// same command resumes it.
class Stopped : public Error {
 public:
  Stopped() : Error(ExitCode::kTemporary, "stopped; run the same command to resume") {}
};

/// Installs the signal handlers: SIGUSR1, SIGTERM and SIGINT request a stop at the next point where
/// work can stop, and SIGUSR2 requests a progress line. A second stop request within 5 s ends the
/// process immediately with 75. Signals within 0.2 s of each other count as one request, since a
/// launcher may forward a signal that the whole process group has already received.
void listen_to_signals();

/// Returns true once per SIGUSR2.
bool take_progress_request();

/// Whether this process should stop, because of a signal or its time limit. Thread-safe.
class StopRequest {
 public:
  /// Requests a stop on a signal, and `seconds` from now.
  explicit StopRequest(double seconds = std::numeric_limits<double>::infinity()) noexcept
      : seconds_(seconds) {}

  bool requested() const;
  /// Throws Stopped when a stop is requested.
  void check() const;
  /// "SIGTERM" or "the time limit"; empty when no stop is requested.
  std::string reason() const;

 private:
  Stopwatch watch_;
  double seconds_;
};

/// For jobs that only a signal stops.
inline const StopRequest kOnlySignals;

}  // namespace bulksim
