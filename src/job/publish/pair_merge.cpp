#include "job/publish/pair_merge.hpp"

#include <algorithm>

namespace bulksim {

namespace {

constexpr std::int64_t kPairsAtOnce = std::int64_t{4} << 20;

}  // namespace

/// The segment of a tile, and the position in it while the rows of a row of tiles are merged.
struct PairMerge::Source {
  std::int64_t tile = 0;
  std::int64_t first_partner = 0;
  std::vector<std::uint32_t> counts = {};  ///< by row
  std::int64_t next = 0;                   ///< pair of the segment
  std::vector<std::uint32_t> items = {};
  std::vector<float> scores = {};
  std::size_t at = 0;  ///< within items
};

std::vector<std::int64_t> PairMerge::row_offsets() const {
  const std::int64_t queries = grid_.shape().queries;
  std::vector<std::int64_t> offsets(queries + 1);
  for (std::int64_t tile = 0; tile < grid_.count(); ++tile) {
    const TileId id = grid_.id(tile);
    const std::size_t rows = grid_.queries(id.row).size();
    const auto first_row = static_cast<std::size_t>(grid_.queries(id.row).begin) + 1;
    const auto first_item = static_cast<std::size_t>(grid_.items(id.column).begin) + 1;
    const auto counts = segments_.counts(tile);
    for (std::size_t at = 0; at < counts.size(); ++at)
      offsets[at < rows ? first_row + at : first_item + at - rows] += counts[at];
  }
  for (std::size_t row = 1; row < offsets.size(); ++row) {
    if (filter_.keep != Keep::kAll) offsets[row] = std::min(offsets[row], filter_.count);
    offsets[row] += offsets[row - 1];
  }
  return offsets;
}

/// The segments that have pairs of the rows of a row of tiles, in the order of their partners.
std::vector<PairMerge::Source> PairMerge::sources_of(std::int64_t tile_row) const {
  std::vector<Source> sources;
  const RowRange rows = grid_.queries(tile_row);
  for (std::int64_t earlier = 0; filter_.mirrored && earlier <= tile_row; ++earlier) {
    const std::int64_t width = grid_.tile().items;
    for (std::int64_t column = rows.begin / width; column * width < rows.end; ++column) {
      if (segments_.has(grid_.number({earlier, column}))) {
        sources.push_back(mirrored_source({earlier, column}, rows));
      }
    }
  }
  for (std::int64_t column = 0; column < grid_.columns(); ++column) {
    const std::int64_t tile = grid_.number({tile_row, column});
    if (!segments_.has(tile)) continue;
    sources.push_back({tile, grid_.items(column).begin, segments_.counts(tile)});
    sources.back().counts.resize(rows.size());
  }
  return sources;
}

/// The columns of a tile that are among `rows`.
PairMerge::Source PairMerge::mirrored_source(TileId tile, RowRange rows) const {
  const RowRange items = grid_.items(tile.column);
  const auto counts = segments_.counts(grid_.number(tile));
  Source source{grid_.number(tile), grid_.queries(tile.row).begin};
  source.counts.resize(rows.size());
  const auto queries = grid_.queries(tile.row).size();
  for (std::int64_t at = 0; at < std::ssize(counts); ++at) {
    const std::int64_t row = items.begin + at - queries;
    const std::uint32_t count = counts[at];
    if (at < queries || row < rows.begin) {
      source.next += count;
    } else if (row < rows.end) {
      source.counts[row - rows.begin] = count;
    }
  }
  return source;
}

void PairMerge::run(PairOrder order, const TakeRow& take) {
  for (std::int64_t tile_row = 0; tile_row < grid_.rows(); ++tile_row) {
    std::vector<Source> sources = sources_of(tile_row);
    const std::int64_t rows = grid_.queries(tile_row).size();
    for (RowRange piece{0, 0}; piece.begin < rows; piece.begin = piece.end) {
      std::int64_t pairs = 0;
      while (piece.end < rows && (piece.end == piece.begin || pairs < kPairsAtOnce)) {
        for (const Source& source : sources)
          pairs += source.counts[piece.end];
        ++piece.end;
      }
      merge_rows(sources, piece, tile_row, order, take);
    }
  }
}

void PairMerge::merge_rows(std::vector<Source>& sources, RowRange rows, std::int64_t tile_row,
                           PairOrder order, const TakeRow& take) {
  for (Source& source : sources) {
    std::int64_t pairs = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row)
      pairs += source.counts[row];
    source.items.resize(pairs);
    source.scores.resize(pairs);
    source.at = 0;
    segments_.read(source.tile, source.next, source.items, source.scores);
    source.next += pairs;
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    row_.clear();
    for (Source& source : sources) {
      const std::size_t end = source.at + source.counts[row];
      for (; source.at < end; ++source.at) {
        row_.push_back({source.first_partner + source.items[source.at], source.scores[source.at]});
      }
    }
    take_row(grid_.queries(tile_row).begin + row, order, take);
  }
}

void PairMerge::take_row(std::int64_t query, PairOrder order, const TakeRow& take) {
  const auto preferred = [&](const ScoredItem& a, const ScoredItem& b) {
    return rank_key(filter_, query, a.item, a.score) > rank_key(filter_, query, b.item, b.score);
  };
  if (filter_.keep != Keep::kAll && std::ssize(row_) > filter_.count) {
    std::nth_element(row_.begin(), row_.begin() + filter_.count, row_.end(), preferred);
    row_.resize(filter_.count);
    std::ranges::sort(row_, {}, &ScoredItem::item);
  }
  if (order == PairOrder::kByScore) {
    std::stable_sort(row_.begin(), row_.end(),
                     [](const ScoredItem& a, const ScoredItem& b) { return a.score > b.score; });
  }
  items_.clear();
  scores_.clear();
  for (const ScoredItem& pair : row_) {
    items_.push_back(pair.item);
    scores_.push_back(pair.score);
  }
  take(query, items_, scores_);
}

}  // namespace bulksim
