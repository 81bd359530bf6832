#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "core/run/log.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim {

/// Shows the progress of a run: redrawn twice per second on a terminal, otherwise one line every 10
/// s in the first minute, then every 1 % or 60 s, and at once after SIGUSR2. Rank 0 reports for all
/// ranks, whose shares are equal.
class Progress {
 public:
  /// `steps` are the tiles (or pairs) of this rank, `bytes` those of all ranks, or 0 where they are
  /// not known. `activity` precedes the line.
  Progress(Log& log, std::int64_t steps, std::int64_t bytes, std::string activity = "");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts finished steps; from any thread.
  void add(std::int64_t steps) { done_.fetch_add(steps, std::memory_order_relaxed); }
  void tile_done() { add(1); }
  std::int64_t done() const { return done_; }

 private:
  void watch(const std::stop_token& stop);
  bool is_due(double seconds, double fraction);
  std::string line(double seconds, double fraction) const;

  Log& log_;
  const std::int64_t steps_;
  const std::int64_t bytes_;
  const std::string activity_;
  std::atomic<std::int64_t> done_{0};
  Stopwatch watch_;
  double last_seconds_ = 0.0;
  double last_fraction_ = 0.0;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace bulksim
