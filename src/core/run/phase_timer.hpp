#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/run/watchdog.hpp"

namespace bulksim {

/// Seconds since construction, on the monotonic clock.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Wall-clock seconds of the phases of a run, in the order in which they began.
class PhaseTimer {
 public:
  /// `watchdog` is notified of every phase; it may be null.
  explicit PhaseTimer(Watchdog* watchdog = nullptr) : watchdog_(watchdog) {}

  /// Ends the current phase, if any, and begins phase `name`.
  void begin(std::string name) {
    end();
    if (watchdog_ != nullptr) watchdog_->begin_phase(name);
    phases_.emplace_back(std::move(name), 0.0);
    running_ = true;
    watch_ = Stopwatch();
  }

  void end() {
    if (running_) phases_.back().second = watch_.seconds();
    running_ = false;
  }

  /// All phases, with the time so far of the current one.
  std::vector<std::pair<std::string, double>> phases() const {
    auto phases = phases_;
    if (running_) phases.back().second = watch_.seconds();
    return phases;
  }

 private:
  Watchdog* watchdog_;
  std::vector<std::pair<std::string, double>> phases_;
  Stopwatch watch_;
  bool running_ = false;
};

}  // namespace bulksim
