#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "core/run/phase_timer.hpp"
#include "job/sinks/progress.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/run/tile_log.hpp"

namespace bulksim {

/// Collects the pairs of finished tiles, on each thread of a backend, and appends them to a file of
/// runs: at least once per second, and whenever a run is full.
class PairOutput final : public PairSink {
 public:
  struct Options {
    CommitPolicy commit;
    bool mirrored = false;        ///< as PairFilterSpec
    std::int64_t most_pairs = 0;  ///< of this rank
    /// Called before each group of tiles, from any thread: an exception ends the run.
    std::function<void(std::span<const TileId>)> before_tiles = nullptr;
    /// Makes the error of a run whose pairs take more than `most_pairs`.
    std::function<Error(std::int64_t pairs)> too_much = nullptr;
  };

  /// `file` and `progress` must outlive the output.
  PairOutput(const TileGrid& grid, PairRunFile& file, Progress& progress, Options options);
  ~PairOutput() override;

  std::unique_ptr<PairWriter> make_writer() override;
  /// Appends the pairs of all finished tiles; no writer may be at work.
  void finish();
  std::int64_t pairs() const { return pairs_; }

 private:
  class Stream;
  class Writer;

  Stream* take_stream();
  void append(const PairRun& run, std::uint32_t stream, bool ends_open);
  void count(std::int64_t pairs);

  TileGrid grid_;
  PairRunFile& file_;
  Progress& progress_;
  Options options_;
  std::atomic<std::int64_t> pairs_ = 0;
  std::mutex streams_mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Stream*> idle_;  // those without a writer
  std::mutex sync_mutex_;
  std::int64_t synced_bytes_ = 0;
  Stopwatch since_sync_;
};

}  // namespace bulksim
