#pragma once

#include <cstdint>

#include "backend/cuda/kernels/block_builder.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "backend/cuda/stream/item_slice.hpp"
#include "backend/cuda/stream/query_rows.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "cuda/device.hpp"

namespace bulksim::cuda {

/// The score kernel over all tiles of one slice of items, without copies.
class ScoreBench {
 public:
  ScoreBench(const Device& device, const QuantizedRows& queries, const QuantizedRows& items,
             const Stream& stream);

  /// Inverts the items again.
  void build();
  /// Enqueues the computation of all scores on the stream; each group of tiles overwrites the
  /// previous one.
  void multiply();
  /// Recomputes everything; returns the number of rows whose row identity does not hold.
  std::int64_t failed_identities();
  /// Largest error of cells sampled from one recomputed tile of each column.
  double largest_error();

 private:
  TileGroup group_of(std::int64_t column, std::int64_t row) const;
  void launch(const TileGroup& group);

  const QuantizedRows& query_rows_;
  const QuantizedRows& item_rows_;
  const Stream& stream_;
  TileGrid grid_;
  LaunchShape shape_;
  DeviceQueries queries_;
  ItemSlot slot_;
  BlockBuilder builder_;
  ItemBlocks blocks_;
  DeviceBuffer<float> values_;
  DeviceBuffer<unsigned long long> row_sums_;
  DeviceBuffer<unsigned long long> column_sums_;
  DeviceBuffer<unsigned> mismatches_;
  DeviceBuffer<unsigned long long> ticket_;
};

}  // namespace bulksim::cuda
