#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "core/run/log.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim {

/// Shows how far the tiles of a run are: redrawn twice a second on a terminal, otherwise a line
/// each 10 s in the first minute, then each 1 % or 60 s, and after SIGUSR2 at once. Rank 0 speaks
/// for all, whose shares are equal.
class Progress {
 public:
  /// `tiles` are this rank's, `bytes` those of the whole output.
  Progress(Log& log, std::int64_t tiles, std::int64_t bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more tile is done; from any thread.
  void tile_done() { done_.fetch_add(1, std::memory_order_relaxed); }
  std::int64_t done() const { return done_; }

 private:
  void watch(const std::stop_token& stop);
  bool is_due(double seconds, double fraction);
  std::string line(double seconds, double fraction) const;

  Log& log_;
  const std::int64_t tiles_;
  const std::int64_t bytes_;
  std::atomic<std::int64_t> done_{0};
  Stopwatch watch_;
  double last_seconds_ = 0.0;
  double last_fraction_ = 0.0;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace bulksim
