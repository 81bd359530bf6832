#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/kernels/filter.hpp"
#include "backend/cuda/stream/tile_ring.hpp"
#include "backend/rows/pair_filter.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Leaves of the tiles of one group what may be wanted, on the device, and brings that down.
class GroupFilter {
 public:
  /// Makes room for groups of up to `tiles` tiles; throws CallError when the device has none.
  void reserve(int tiles, const TileShape& tile);
  void clear();

  /// Puts the filtering of a group into `compute`. Rows of the batch that do not exist, from
  /// `batch_rows` on, have no candidates; nor have items from `items` of the column on.
  void launch(const TileGroup& group, const TileGrid& grid, std::int64_t items,
              std::int64_t batch_rows, const PairFilter& filter, const Stream& compute);
  /// Waits for the filtering: candidates of a tile, or nothing where it has more than there is room
  /// for and the whole tile is better.
  std::optional<std::int64_t> candidates(int tile) const;
  /// Copies the candidates of a tile, in the order of `download`.
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
