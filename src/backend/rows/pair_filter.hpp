#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/rows/pending_top_k.hpp"
#include "backend/rows/top_k_heaps.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// Selects the wanted pairs from finished tiles, or from rows of candidates.
class PairFilter final : public TileSink {
 public:
  class Writer;

  PairFilter(const TileGrid& grid, const PairFilterSpec& spec) : grid_(grid), spec_(spec) {}
  ~PairFilter() override;

  /// Replaces the queries; no writer may be active.
  void begin_queries(RowRange queries, PairSink& sink);
  std::unique_ptr<TileWriter> make_writer() override;
  std::unique_ptr<Writer> make_pair_writer();

  const PairFilterSpec& spec() const { return spec_; }
  /// Lower scores of this row of the batch are not wanted. Rises as tiles are finished.
  float floor(std::int64_t row) const;
  PairStats work() const;
  /// As PairBackend.
  void for_each_list(RowRange queries, const std::function<void(const PairStripe&)>& take) const;

 private:
  TileGrid grid_;
  PairFilterSpec spec_;
  RowRange queries_;
  PairSink* sink_ = nullptr;
  std::optional<TopKHeaps> best_;
  std::atomic<std::int64_t> cells_ = 0;
};

/// Passes the tiles of one thread to the filter, which delivers the pairs of a tile when it is
/// finished.
class PairFilter::Writer final : public TileWriter {
 public:
  explicit Writer(PairFilter& filter) : filter_(filter), writer_(filter.sink_->make_writer()) {}

  void begin(TileId tile) override;
  void write(const TileStripe& stripe) override;
  /// One row of the tile, rows ascending. Contains at least the wanted cells, items ascending.
  void write_candidates(std::int64_t query, std::span<const ScoredItem> candidates);
  void finish() override;

 private:
  void filter_row(std::int64_t query, const float* values);
  void keep_row(std::int64_t query);

  PairFilter& filter_;
  std::unique_ptr<PairWriter> writer_;
  TileId tile_;
  std::vector<ScoredItem> pairs_;  // of one row
  /// Rows of the tile with pairs: the query, and the end of its pairs.
  std::vector<std::pair<std::int64_t, std::size_t>> rows_;
  std::vector<ScoredItem> kept_;
  PendingTopK pending_;
};

}  // namespace bulksim
