#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/checksum.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "job/sinks/progress.hpp"
#include "storage/parts/run_files.hpp"
#include "storage/run/tile_log.hpp"

namespace bulksim {

/// Writes finished tiles: rounds each stripe to its type, hashes it (as float32) while it is in
/// cache, writes it, and records the digest of the whole tile, also in the log. It does the same
/// with the partials of the block sums, whose digest stands for the tile where no matrix is
/// written.
class TileOutput final : public TileSink {
 public:
  struct Options {
    TileLog* log = nullptr;                    ///< none in a run without durability
    std::optional<float> most = std::nullopt;  ///< larger values and NaN are counted
    /// Called before each tile, from any thread: an exception ends the run.
    std::function<void()> before_tile = nullptr;
    ValueType type = ValueType::kFloat32;
  };

  /// `files`, `progress` and the log must outlive the output.
  TileOutput(const TileGrid& grid, RunFiles& files, Progress& progress, Options options);

  std::unique_ptr<TileWriter> make_writer() override;
  /// Digests by tile number; only those of finished tiles are valid.
  const std::vector<Digest>& digests() const { return digests_; }
  /// Tiles that contain only zeros.
  std::int64_t zero_tiles() const { return zero_tiles_; }
  /// Values that are not scores, where they are checked.
  std::int64_t outside() const { return outside_; }

 private:
  class Writer;

  TileGrid grid_;
  RunFiles& files_;
  Progress& progress_;
  Options options_;
  std::atomic<std::int64_t> outside_ = 0;
  std::atomic<std::int64_t> zero_tiles_ = 0;
  std::vector<Digest> digests_;  // each written by the one thread that has the tile
};

}  // namespace bulksim
