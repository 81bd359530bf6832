#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "backend/rows/tile_batch_queue.hpp"
#include "backend/rows/tile_checks.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// A query batch shared by the workers; constant while they run.
struct LabelledQueries {
  QueryBatch batch;  ///< a copy: threads may begin when the batch is over
  Vocabulary vocabulary;
  LabelledRows rows;

  explicit LabelledQueries(const QueryBatch& queries);
};

/// Computes and checks tiles on one thread, with its own memory.
///
/// A tile is written in stripes of about 1 MiB, which stay in the cache of the core until they are
/// checked, hashed and written.
class TileWorker {
 public:
  TileWorker(const CpuBackendOptions& options, const CpuKernel& kernel);

  /// Sets the queries, which must outlive the computation of the columns that follow.
  void begin_queries(const LabelledQueries& queries) {
    queries_ = &queries;
    chunk_number_ = -1;
  }
  /// Computes tiles of one column, and recomputes a tile when its checks fail. Returns the number
  /// of recomputations; throws Error (70) when the checks fail again. Ends early when `is_over`.
  std::int64_t compute(const TileBatch& batch, TileWriter& writer,
                       const std::function<bool()>& is_over);

  static std::int64_t bytes(const CpuBackendOptions& options, std::int64_t labels,
                            std::int64_t tile_nnz);

 private:
  void begin_column(const TileBatch& batch);
  std::int64_t compute_tile(TileId tile, TileWriter& writer);
  bool compute_once(TileId tile, TileWriter& writer);
  bool compute_stripe(RowRange rows);
  bool samples_hold(RowRange rows, std::span<const Cell>& cells) const;
  bool partial_holds(std::int64_t stripe_row, std::int64_t row, std::int64_t item) const;
  bool columns_hold(RowRange rows);
  std::int64_t partial_blocks() const;

  CpuBackendOptions options_;
  CpuKernel kernel_;
  BlockLayout layout_;
  std::int64_t stripe_rows_;
  const LabelledQueries* queries_ = nullptr;
  const ItemChunk* chunk_ = nullptr;
  std::int64_t chunk_number_ = -1;
  std::int64_t column_ = 0;
  BlockFunction function_ = nullptr;
  RowRange local_items_;  // of the column of tiles, within the chunk
  RowRange local_rows_;   // of the tile, within the query batch
  LabelledRows items_;
  std::vector<ItemBlock> blocks_;
  KernelScratch scratch_;
  ColumnIdentity column_identity_;
  AlignedBuffer<std::int64_t> column_sums_;
  AlignedBuffer<float> stripe_;
  std::vector<SoftmaxPartial> partials_;  // of the stripe; empty if not requested
};

}  // namespace bulksim
