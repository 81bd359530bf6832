#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/pair_segments.hpp"
#include "storage/result/pair_file.hpp"

namespace bulksim {

/// Order of the pairs of one query.
enum class PairOrder {
  kByItem,
  kByScore,  ///< descending; by item number where scores are equal
};

/// Merges the segments of all tiles, query by query. Memory: a few million pairs, or those of the
/// longest row if it has more.
class PairMerge {
 public:
  /// All must outlive the merge.
  PairMerge(const PairSegments& segments, const TileGrid& grid, const PairFilterSpec& filter)
      : segments_(segments), grid_(grid), filter_(filter) {}

  /// queries + 1 offsets of the merged rows, the first of which is 0.
  std::vector<std::int64_t> row_offsets() const;
  void run(PairOrder order, const TakeRow& take);

 private:
  struct Source;

  std::vector<Source> sources_of(std::int64_t tile_row) const;
  Source mirrored_source(TileId tile, RowRange rows) const;
  void merge_rows(std::vector<Source>& sources, RowRange rows, std::int64_t tile_row,
                  PairOrder order, const TakeRow& take);
  void take_row(std::int64_t query, PairOrder order, const TakeRow& take);

  const PairSegments& segments_;
  const TileGrid& grid_;
  const PairFilterSpec& filter_;
  std::vector<ScoredItem> row_;
  std::vector<std::int64_t> items_;
  std::vector<float> scores_;
};

}  // namespace bulksim
