#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/device_memory.hpp"
#include "backend/cuda/kernels/filter.hpp"
#include "backend/cuda/stream/content.hpp"
#include "core/bounded_queue.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Pinned memory for one tile.
struct PinnedTile {
  explicit PinnedTile(const CudaBackendOptions& options)
      : values(tile_values(options)), mismatches(1), partials(tile_partials(options)) {}

  /// Allocates for the candidates of a filtered tile.
  void make_room_for_candidates(const TileShape& tile) {
    counts.reserve(tile.queries);
    candidates.reserve(candidate_capacity(tile.cells()));
  }

  PinnedBuffer<float> values;
  PinnedBuffer<unsigned> mismatches;      ///< rows of the tile whose row identity does not hold
  PinnedBuffer<SoftmaxPartial> partials;  ///< [row][block]
  PinnedBuffer<unsigned> counts;          ///< candidates of each row
  PinnedBuffer<Candidate> candidates;
  Event arrived;  ///< all copies have arrived
};

/// Pinned tiles in rotation: taken empty, filled by a copy, returned after they have been written.
class TileRing {
 public:
  explicit TileRing(const CudaBackendOptions& options) : empty_(options.pinned_tiles) {
    for (int tile = 0; tile < options.pinned_tiles; ++tile) {
      tiles_.push_back(std::make_unique<PinnedTile>(options));
      empty_.push(tiles_.back().get());
    }
  }

  /// Waits for an empty tile; returns none once the ring is closed and exhausted.
  std::optional<PinnedTile*> take() { return empty_.pop(); }
  void give_back(PinnedTile* tile) { empty_.push(tile); }
  /// Makes `take` fail once no tile is left, because a failure ends the run.
  void close() { empty_.close(); }

 private:
  std::vector<std::unique_ptr<PinnedTile>> tiles_;
  BoundedQueue<PinnedTile*> empty_;
};

}  // namespace bulksim::cuda
