#include "job/pair_merge.hpp"

#include <algorithm>

namespace bulksim {

namespace {

constexpr std::int64_t kPairsAtOnce = std::int64_t{4} << 20;

}  // namespace

/// The run of one tile on its way through its rows.
struct PairMerge::Column {
  std::int64_t tile = 0;
  std::int64_t first_item = 0;
  std::vector<std::uint32_t> counts = {};
  std::int64_t next = 0;  ///< pair of the run
  std::vector<std::uint32_t> items = {};
  std::vector<float> scores = {};
  std::size_t at = 0;  ///< within items
};

std::vector<std::int64_t> PairMerge::row_offsets() const {
  const std::int64_t queries = grid_.shape().queries;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(queries) + 1);
  for (std::int64_t tile = 0; tile < grid_.count(); ++tile) {
    const auto first = static_cast<std::size_t>(grid_.queries(grid_.id(tile).row).begin) + 1;
    const auto counts = runs_.counts(tile);
    for (std::size_t row = 0; row < counts.size(); ++row)
      offsets[first + row] += counts[row];
  }
  for (std::size_t row = 1; row < offsets.size(); ++row) {
    if (cut_.keep != Keep::kAll) offsets[row] = std::min(offsets[row], cut_.count);
    offsets[row] += offsets[row - 1];
  }
  return offsets;
}

void PairMerge::run(PairOrder order, const TakeRow& take) {
  for (std::int64_t tile_row = 0; tile_row < grid_.rows(); ++tile_row) {
    std::vector<Column> columns;
    for (std::int64_t column = 0; column < grid_.columns(); ++column) {
      const std::int64_t tile = grid_.number({tile_row, column});
      if (!runs_.has(tile)) continue;
      columns.push_back({tile, grid_.items(column).begin, runs_.counts(tile)});
    }
    const std::int64_t rows = grid_.queries(tile_row).size();
    for (RowRange piece{0, 0}; piece.begin < rows; piece.begin = piece.end) {
      std::int64_t pairs = 0;
      while (piece.end < rows && (piece.end == piece.begin || pairs < kPairsAtOnce)) {
        for (const Column& column : columns)
          pairs += column.counts[static_cast<std::size_t>(piece.end)];
        ++piece.end;
      }
      merge_rows(columns, piece, tile_row, order, take);
    }
  }
}

void PairMerge::merge_rows(std::vector<Column>& columns, RowRange rows, std::int64_t tile_row,
                           PairOrder order, const TakeRow& take) {
  for (Column& column : columns) {
    std::int64_t pairs = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row)
      pairs += column.counts[static_cast<std::size_t>(row)];
    column.items.resize(static_cast<std::size_t>(pairs));
    column.scores.resize(static_cast<std::size_t>(pairs));
    column.at = 0;
    runs_.read(column.tile, column.next, column.items, column.scores);
    column.next += pairs;
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    row_.clear();
    for (Column& column : columns) {
      const std::size_t end = column.at + column.counts[static_cast<std::size_t>(row)];
      for (; column.at < end; ++column.at) {
        row_.push_back({column.first_item + column.items[column.at], column.scores[column.at]});
      }
    }
    take_row(grid_.queries(tile_row).begin + row, order, take);
  }
}

void PairMerge::take_row(std::int64_t query, PairOrder order, const TakeRow& take) {
  const auto preferred = [&](const ScoredItem& a, const ScoredItem& b) {
    return preference(cut_, query, a.item, a.score) > preference(cut_, query, b.item, b.score);
  };
  if (cut_.keep != Keep::kAll && std::ssize(row_) > cut_.count) {
    std::nth_element(row_.begin(), row_.begin() + cut_.count, row_.end(), preferred);
    row_.resize(static_cast<std::size_t>(cut_.count));
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
