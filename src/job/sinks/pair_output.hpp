#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "core/run/phase_timer.hpp"
#include "job/sinks/progress.hpp"
#include "storage/parts/pair_segments.hpp"
#include "storage/run/tile_log.hpp"

namespace bulksim {

/// Writes the pairs of finished tiles to a file of segments.
class PairOutput final : public PairSink {
 public:
  struct Options {
    CommitPolicy commit;
    bool mirrored = false;        ///< as PairFilterSpec
    std::int64_t most_pairs = 0;  ///< of this rank
    /// Called before each tile, from any thread: an exception ends the run.
    std::function<void()> before_tile = nullptr;
    /// Makes the error of a run whose pairs take more than `most_pairs`.
    std::function<Error(std::int64_t pairs)> too_much = nullptr;
  };

  /// `file` and `progress` must outlive the output.
  PairOutput(const TileGrid& grid, PairSegmentFile& file, Progress& progress, Options options);

  std::unique_ptr<PairWriter> make_writer() override;
  std::int64_t pairs() const { return pairs_; }

 private:
  class Writer;

  void tile_done(const PairSegment& segment);

  TileGrid grid_;
  PairSegmentFile& file_;
  Progress& progress_;
  Options options_;
  std::atomic<std::int64_t> pairs_ = 0;
  std::mutex sync_mutex_;
  std::int64_t synced_bytes_ = 0;
  Stopwatch since_sync_;
};

}  // namespace bulksim
