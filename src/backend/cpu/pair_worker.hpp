#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/cpu/pair_band.hpp"
#include "backend/cpu/way_costs.hpp"
#include "backend/rows/pending_top_k.hpp"
#include "backend/rows/tile_batch_queue.hpp"
#include "backend/rows/tile_checks.hpp"
#include "backend/rows/top_k_heaps.hpp"
#include "backend/search/pair_join.hpp"
#include "backend/search/pair_search.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// Finds the wanted pairs of tiles on one of `options.threads` threads, with its own memory.
///
/// The tiles of a batch are computed in parts: some queries times the items of a band, or of a
/// block of it. For each part the cheapest of three ways is chosen, which all find the same pairs.
class PairWorker {
 public:
  PairWorker(const CpuBackendOptions& options, const PairFilterSpec& spec, const CpuKernel& kernel,
             std::optional<PairWay> only_way);

  /// The workers share `best`; null with Keep::kAll.
  void begin_queries(const SearchQueries& queries, TopKHeaps* best);
  /// Finds the pairs of some tiles of one band and recomputes a part when its checks fail. Returns
  /// the number of recomputed parts; throws Error (70) when the checks fail again.
  std::int64_t compute(const TileBatch& batch, PairWriter& writer,
                       const std::function<bool()>& is_over);

  PairStats take_work();

  /// Columns of tiles whose items a thread inverts together.
  static std::int64_t columns_of_a_band(const TileGrid& grid, const PairFilterSpec& spec);
  static std::int64_t bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                            std::int64_t query_nnz, std::int64_t labels, std::int64_t band_nnz);

 private:
  /// Some rows of the query batch times some items of the band, as rows of its LabelledRows.
  struct Part {
    RowRange rows;
    RowRange items;

    std::int64_t cells() const { return rows.size() * items.size(); }
  };
  /// The pairs of one row of the query batch in a part.
  struct FoundRow {
    std::size_t end;         ///< of its pairs in found_, items ascending
    std::size_t offers_end;  ///< of its pairs in offers_, items ascending
    std::uint64_t floor;     ///< lower rank keys were not searched for
    std::uint64_t least;     ///< lower rank keys were dropped
  };
  /// A pair of a self-join that may be among the best of its item, which is a query as well.
  struct Offer {
    std::int64_t row;        ///< of the item, in the batch
    std::uint64_t rank_key;  ///< among its pairs
  };

  void begin_band(const TileBatch& batch);
  void estimate_costs();
  void estimate(PairWay way, const std::vector<std::int64_t>& rows);
  std::int64_t compute_rectangle(RowRange queries, RowRange items);
  void run_slice(const Part& slice, PairWriter& writer);
  void run_part(PairWay way, Part& part, PairWriter& writer);
  bool find(PairWay way, Part& part);
  void join(Part& part);
  bool sweep(Part& part);
  bool filter(Part& part);
  /// Whether pairs are offered to their item too.
  bool is_mirrored() const { return spec_.mirrored && best_ != nullptr; }
  std::uint64_t floor_of(std::int64_t row) const;
  float least_score(std::uint64_t floor, std::int64_t first_item) const;
  SearchGoal goal_of(std::int64_t row, RowRange items, bool all, std::uint64_t floor) const;
  void add(std::int64_t row, std::int64_t item, float score, const Part& part);
  void offer(std::int64_t row, std::int64_t item, float score, const Part& part);
  void end_row(std::int64_t row, std::uint64_t floor);
  const float* item_floors(const Part& part, RowRange items);
  bool holds(const Part& part) const;
  bool offer_holds(const Part& part, std::int64_t row, std::int64_t item, float score) const;
  void deliver(const Part& part, PairWriter& writer);
  std::span<const ScoredItem> pairs_of(const Part& part, std::int64_t row) const;
  std::int64_t query_of(std::int64_t row) const { return queries_->batch().range.begin + row; }
  TileId tile_of(const Part& part) const;

  CpuBackendOptions options_;
  PairFilterSpec spec_;
  CpuKernel kernel_;
  const SearchQueries* queries_ = nullptr;
  TopKHeaps* best_ = nullptr;
  const ItemChunk* chunk_ = nullptr;
  std::int64_t chunk_number_ = -1;
  std::int64_t band_number_ = -1;
  std::uint64_t bands_begun_ = 0;  // with these queries
  PairBand band_;
  WayCosts costs_;
  JoinIndex sample_index_;
  PairJoin join_;
  PairSearch search_;
  FilterFunction filter_ = nullptr;
  KernelScratch scratch_;
  PairStats own_work_;  // but that of join_ and search_
  std::int64_t recomputed_ = 0;
  std::vector<ScoredItem> found_;     // of a part, by row
  std::vector<FoundRow> found_rows_;  // by row of the part
  std::vector<Offer> offers_;
  std::int64_t offer_begin_ = 0;             // first item of the block of the floors
  std::vector<std::uint64_t> offer_floors_;  // by item of a block: rank key of its floor
  std::vector<float> item_floors_;           // by item of a block: score of its floor
  std::vector<ExactPair> exact_;
  std::vector<FoundCell> cells_;
  std::vector<std::uint32_t> cell_ends_;
  std::vector<ScoreFloor> cell_floors_;
  std::vector<ScoredItem> row_pairs_;
  PendingTopK pending_;
};

}  // namespace bulksim
