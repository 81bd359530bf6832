#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/result/pair_file.hpp"

namespace bulksim {

/// Order of the pairs of one query.
enum class PairOrder {
  kByItem,
  kByScore,  ///< descending; by item number where scores are equal
};

/// Merges the runs of a plan, query by query. Memory: two numbers per query, and a million pairs,
/// or those of the longest row if it has more.
class PairMerge {
 public:
  /// All must outlive the merge.
  PairMerge(const PairRuns& runs, std::int64_t queries, const PairFilterSpec& filter);

  /// queries + 1 offsets of the merged rows, the first of which is 0.
  std::vector<std::int64_t> row_offsets() const;
  /// Calls `take` with each of `queries`, ascending.
  void run(RowRange queries, PairOrder order, const TakeRow& take);

 private:
  /// A run, and the position in it.
  struct Source {
    std::int64_t run = 0;
    std::int64_t next_row = 0;   // of the run, to be read
    std::int64_t next_pair = 0;  // of the run, to be merged
    std::vector<std::int64_t> rows = {};
    std::vector<std::uint32_t> counts = {};
    std::size_t at = 0;  // within rows
  };
  /// Neighbouring pairs of one query in items_ and scores_.
  struct Piece {
    std::int64_t query;
    std::size_t at;
    std::size_t pairs;
  };

  bool has_row(Source& source) const;
  void read_pieces(Source& source, RowRange queries);
  void take_row(std::int64_t query, std::span<const Piece> pieces, PairOrder order,
                const TakeRow& take);

  const PairRuns& runs_;
  const PairFilterSpec& filter_;
  std::vector<std::int64_t> counts_;  // by query: of all runs
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> items_;
  std::vector<float> scores_;
  std::vector<ScoredItem> row_;
  std::vector<std::int64_t> row_items_;
  std::vector<float> row_scores_;
};

}  // namespace bulksim
