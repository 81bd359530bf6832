#pragma once

#include <mutex>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/stream/query_rows.hpp"
#include "backend/cuda/stream/tile_ring.hpp"

namespace bulksim::cuda {

/// Computes single tiles anew, the other way: item rows are sent up again and multiplied with query
/// panels, nothing is inverted and nothing is shared with the first computation but the queries on
/// the device. Memory is taken when it is needed, which is hardly ever.
class RecomputeTile {
 public:
  RecomputeTile(const CudaBackendOptions& options, const QueryBatch& batch,
                const DeviceQueries& queries)
      : options_(options), batch_(batch), queries_(queries) {}

  /// Fills `to` and returns when it has arrived. From any thread, one after the other.
  void compute(const ItemChunk& chunk, TileId tile, PinnedTile& to);

 private:
  const CudaBackendOptions& options_;
  const QueryBatch& batch_;
  const DeviceQueries& queries_;
  std::mutex mutex_;
};

}  // namespace bulksim::cuda
