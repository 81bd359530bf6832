#pragma once

#include <limits>
#include <string>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim {

/// Thrown at a border where work may end, once somebody has asked for it: what is finished stays
/// and the same command goes on from there.
class Stopped : public Error {
 public:
  Stopped() : Error(ExitCode::kTemporary, "stopped; run the same command to go on") {}
};

/// From now on SIGUSR1, SIGTERM and SIGINT ask the process to stop at the next border, and SIGUSR2
/// asks for a line of progress. Two requests to stop within 5 s end the process at once with 75;
/// what comes within 0.2 s of another counts as the same one, since launchers may pass on what the
/// whole process group has got already.
void listen_to_signals();

/// True once for each SIGUSR2.
bool take_progress_request();

/// Whether this process shall stop: after a signal, or because its time is over. Any thread may
/// ask.
class StopRequest {
 public:
  /// Stops for signals, and `seconds` from now.
  explicit StopRequest(double seconds = std::numeric_limits<double>::infinity()) noexcept
      : seconds_(seconds) {}

  bool requested() const;
  /// Throws Stopped when it is requested.
  void check() const;
  /// "SIGTERM", "the time limit"; empty when nothing was requested.
  std::string reason() const;

 private:
  Stopwatch watch_;
  double seconds_;
};

/// What a job is given when nothing but a signal stops it.
inline const StopRequest kOnlySignals;

}  // namespace bulksim
