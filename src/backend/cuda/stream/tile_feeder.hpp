#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/device_memory.hpp"
#include "backend/cuda/kernels/block_builder.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "backend/cuda/stream/group_filter.hpp"
#include "backend/cuda/stream/item_slice.hpp"
#include "backend/cuda/stream/query_rows.hpp"
#include "backend/cuda/stream/tile_ring.hpp"
#include "backend/rows/tile_batch_queue.hpp"
#include "cuda/device.hpp"

namespace bulksim::cuda {

/// A tile whose copy to the host has been enqueued.
struct Delivery {
  TileBatch batch;  ///< of this tile alone
  PinnedTile* pinned;
  std::optional<std::int64_t> candidates = std::nullopt;  ///< nullopt: the whole tile

  TileId tile() const { return batch.tiles.front(); }
};

/// Keeps the device busy: item rows are uploaded, inverted into blocks and multiplied with the
/// queries, and tiles are downloaded. Upload, compute and download each have a stream; only events
/// order them.
///
///   upload     | rows of slice 1 | rows of slice 2 |
///   compute                      | blocks 1 | group 1 | group 2 | .. | blocks 2 | ..
///   download                                          | tiles of group 1 | tiles of group 2 |
///
/// A slice is as many neighbouring columns of tiles as fit; a group is up to sixteen tiles of one
/// column, with two buffers for its results. When the device runs out of memory, slices are halved
/// down to one column, then groups down to one tile; after that it is an Error (71).
class TileFeeder {
 public:
  /// Called for each tile, in order; returning false ends the work.
  using Deliver = std::function<bool(Delivery)>;

  /// If `filter` is null, whole tiles are downloaded.
  TileFeeder(const CudaBackendOptions& options, const Device& device, const QueryBatch& batch,
             const PairFilter* filter);

  const DeviceQueries& queries() const { return *queries_; }

  /// Computes the tiles of a batch and passes them through `ring`. Returns early when `deliver`
  /// returns false or the ring is closed.
  void run(const TileBatch& batch, TileRing& ring, const Deliver& deliver);

 private:
  /// Device memory of the results of a group until they have been copied.
  struct Results {
    DeviceBuffer<float> values;
    DeviceBuffer<unsigned long long> row_sums;
    DeviceBuffer<unsigned> mismatches;
    DeviceBuffer<SoftmaxPartial> partials;
    GroupFilter filter;
    Event computed;
    Event downloaded;
  };

  /// Neighbouring columns of tiles of a chunk, and their wanted tiles.
  struct Slice {
    RowRange items;  ///< rows of the chunk
    std::int64_t first_column;
    std::int64_t columns;
    std::int64_t entries;
    std::span<const TileId> tiles;
  };

  /// Tiles of one column whose results are in `results`.
  struct Group {
    std::span<const TileId> tiles;
    Results* results;
  };

  std::int64_t blocks_per_tile() const {
    return BlockGrid{0, options_.grid.tile().items}.blocks_per_tile();
  }
  BlockGrid grid_of(const Slice& slice) const {
    return {slice.items.size(), options_.grid.tile().items};
  }
  std::int64_t result_bytes() const;
  SliceSize size_of(const Slice& slice) const;
  DeviceMemory memory_with(const Slice& slice) const;
  void reserve_results();
  void clear_results();
  Slice slice_of(const ItemChunk& chunk, std::span<const TileId> tiles, std::int64_t columns) const;
  Slice next_slice(const ItemChunk& chunk, std::span<const TileId> tiles);
  void reserve(const Slice& slice);
  void give_way(const Slice& slice);
  Error out_of_memory(const Slice& slice) const;
  bool run_slice(const TileBatch& batch, const Slice& slice, TileRing& ring,
                 const Deliver& deliver);
  void sum_columns(const Slice& slice, const ItemChunk& chunk, const ItemSlot& slot,
                   std::int64_t column);
  Group launch(const Slice& slice, const ItemSlot& slot, const ItemBlocks& blocks,
               std::span<const TileId> tiles);
  bool send_down(const TileBatch& batch, const Group& group, TileRing& ring,
                 const Deliver& deliver);

  const CudaBackendOptions& options_;
  const Device& device_;
  const QueryBatch& batch_;
  const PairFilter* filter_;
  LaunchShape shape_;
  Stream upload_;
  Stream compute_;
  Stream download_;
  std::optional<DeviceQueries> queries_;
  std::int64_t budget_ = 0;  // device bytes in total
  std::int64_t slice_columns_ = 1;
  int group_tiles_ = kGroupTiles;
  std::array<ItemSlot, 2> slots_;
  std::array<Results, 2> results_;
  std::size_t next_slot_ = 0;
  std::size_t next_results_ = 0;
  BlockBuilder builder_;
  DeviceBuffer<unsigned long long> column_sums_;
  DeviceBuffer<unsigned long long> ticket_;
};

}  // namespace bulksim::cuda
