#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/rows/pending_top_k.hpp"
#include "backend/rows/tile_checks.hpp"
#include "backend/rows/top_k_heaps.hpp"
#include "backend/search/pair_search.hpp"
#include "backend/search/search_block.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// Finds the wanted pairs of tiles on one of `options.threads` threads, with its own memory.
class PairWorker {
 public:
  PairWorker(const CpuBackendOptions& options, const PairFilterSpec& spec, int thread);

  /// The workers share `best`; null with Keep::kAll.
  void begin_queries(const SearchQueries& queries, TopKHeaps* best);
  /// Inverts the items of a column of tiles; the chunk must outlive the computation of its tiles.
  void begin_column(const ItemChunk& chunk, std::int64_t column);
  /// Finds the pairs of a tile of the column and recomputes those of a query when their checks
  /// fail. Returns 1 if that happened, else 0; throws Error (70) when the checks fail again.
  std::int64_t compute(TileId tile, PairWriter& writer);

  PairStats take_work() { return search_.take_work(); }

  static std::int64_t bytes(const CpuBackendOptions& options, std::int64_t query_nnz,
                            std::int64_t labels, std::int64_t tile_nnz);

 private:
  bool row_holds(TileId tile, std::int64_t row, std::span<const Cell> cells);
  bool find_row(std::int64_t row, std::uint64_t floor);
  bool samples_hold(std::int64_t row, std::span<const Cell> cells, std::uint64_t floor) const;
  float least_score(std::uint64_t floor, std::int64_t first_item) const;
  float score(std::int64_t row, std::int64_t local_item, std::int64_t sum) const;

  CpuBackendOptions options_;
  PairFilterSpec spec_;
  int thread_;
  const SearchQueries* queries_ = nullptr;
  TopKHeaps* best_ = nullptr;
  const ItemChunk* chunk_ = nullptr;
  RowRange local_items_;  // of the column of tiles, within the chunk
  LabelledRows items_;
  std::vector<SearchBlock> blocks_;
  std::size_t block_count_ = 0;
  PairSearch search_;
  std::vector<ExactPair> found_;
  std::vector<ScoredItem> pairs_;  // of one query, items ascending
  PendingTopK pending_;
  std::span<const std::uint64_t> rank_keys_;  // of the same query
};

}  // namespace bulksim
