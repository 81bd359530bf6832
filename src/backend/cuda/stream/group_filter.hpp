#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/kernels/filter.hpp"
#include "backend/cuda/stream/tile_ring.hpp"
#include "backend/rows/pair_filter.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Filters the tiles of one group on the device and copies the candidates to the host.
class GroupFilter {
 public:
  /// Allocates for groups of up to `tiles` tiles; throws CallError if the device does not have
  /// enough memory.
  void reserve(int tiles, const TileShape& tile);
  void clear();

  /// Enqueues the filtering of a group on `compute`. Rows of the batch at or beyond `batch_rows`
  /// and items of the column at or beyond `items` do not exist and have no candidates.
  void launch(const TileGroup& group, const TileGrid& grid, std::int64_t items,
              std::int64_t batch_rows, const PairFilter& filter, const Stream& compute);
  /// Waits for the filtering. Returns the number of candidates of a tile, or nullopt if it exceeds
  /// the capacity, in which case the whole tile is copied.
  std::optional<std::int64_t> candidates(int tile) const;
  /// Copies the candidates of a tile on `download`.
  void send_down(int tile, std::int64_t count, PinnedTile& to, const Stream& download) const;

 private:
  TileShape shape_;
  PinnedBuffer<float> staged_floors_;
  PinnedBuffer<unsigned> totals_;
  DeviceBuffer<float> floors_;
  DeviceBuffer<unsigned> bits_;
  DeviceBuffer<unsigned> counts_;
  DeviceBuffer<unsigned> firsts_;
  DeviceBuffer<unsigned> device_totals_;
  DeviceBuffer<Candidate> candidates_;
  Event filtered_;
};

}  // namespace bulksim::cuda
