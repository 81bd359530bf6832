#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bulksim/core/bounded_queue.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Room for one tile on its way out.
struct PinnedTile {
  explicit PinnedTile(std::int64_t cells) : values(cells), mismatches(1) {}

  PinnedBuffer<float> values;
  PinnedBuffer<unsigned> mismatches;  ///< rows of the tile that broke the row identity
  Event arrived;                      ///< both are here
};

/// Pinned tiles that go round: taken empty, filled by a copy, given back when they have been
/// written.
class TileRing {
 public:
  TileRing(int tiles, std::int64_t cells) : empty_(static_cast<std::size_t>(tiles)) {
    for (int tile = 0; tile < tiles; ++tile) {
      tiles_.push_back(std::make_unique<PinnedTile>(cells));
      empty_.push(tiles_.back().get());
    }
  }

  /// Waits for an empty tile; nothing once the ring is closed and used up.
  std::optional<PinnedTile*> take() { return empty_.pop(); }
  void give_back(PinnedTile* tile) { empty_.push(tile); }
  /// Lets `take` fail as soon as nothing is left: a failure ends the run.
  void close() { empty_.close(); }

 private:
  std::vector<std::unique_ptr<PinnedTile>> tiles_;
  BoundedQueue<PinnedTile*> empty_;
};

}  // namespace bulksim::cuda
