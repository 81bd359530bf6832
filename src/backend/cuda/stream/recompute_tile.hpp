#pragma once

#include <mutex>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/stream/query_rows.hpp"
#include "backend/cuda/stream/tile_ring.hpp"

namespace bulksim::cuda {

/// Recomputes single tiles by an independent method: item rows are uploaded again and multiplied
/// with query panels. Nothing is inverted; only the queries on the device are shared with the first
/// computation. Memory is allocated on use, which is rare.
class RecomputeTile {
 public:
  RecomputeTile(const CudaBackendOptions& options, const QueryBatch& batch,
                const DeviceQueries& queries)
      : options_(options), batch_(batch), queries_(queries) {}

  /// Fills `to` and returns when it has arrived. May be called from any thread; calls are
  /// serialized.
  void compute(const ItemChunk& chunk, TileId tile, PinnedTile& to);

 private:
  const CudaBackendOptions& options_;
  const QueryBatch& batch_;
  const DeviceQueries& queries_;
  std::mutex mutex_;
};

}  // namespace bulksim::cuda
