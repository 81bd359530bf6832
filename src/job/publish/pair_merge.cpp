#include "job/publish/pair_merge.hpp"

#include <algorithm>

namespace bulksim {

namespace {

constexpr std::int64_t kRowsAtOnce = 1024;

}  // namespace

PairMerge::PairMerge(const PairRuns& runs, std::int64_t queries, const PairFilterSpec& filter)
    : runs_(runs), filter_(filter), counts_(queries) {
  for (std::int64_t run = 0; run < runs.size(); ++run) {
    for (Source source{run}; has_row(source); ++source.at)
      counts_[source.rows[source.at]] += source.counts[source.at];
  }
}

std::vector<std::int64_t> PairMerge::row_offsets() const {
  std::vector<std::int64_t> offsets(counts_.size() + 1);
  for (std::size_t row = 0; row < counts_.size(); ++row) {
    const std::int64_t kept =
        filter_.keep == Keep::kAll ? counts_[row] : std::min(counts_[row], filter_.count);
    offsets[row + 1] = offsets[row] + kept;
  }
  return offsets;
}

/// Whether the run has a row at the position; reads it.
bool PairMerge::has_row(Source& source) const {
  if (source.at < source.rows.size()) return true;
  const std::int64_t left = runs_.rows_of(source.run) - source.next_row;
  source.rows.resize(std::min(kRowsAtOnce, left));
  source.counts.resize(source.rows.size());
  runs_.read_rows(source.run, source.next_row, source.rows, source.counts);
  source.next_row += std::ssize(source.rows);
  source.at = 0;
  return !source.rows.empty();
}

void PairMerge::run(RowRange queries, PairOrder order, const TakeRow& take) {
  std::vector<Source> sources;
  for (std::int64_t run = 0; run < runs_.size(); ++run) {
    Source& source = sources.emplace_back(Source{run});
    for (; has_row(source) && source.rows[source.at] < queries.begin; ++source.at)
      source.next_pair += source.counts[source.at];
  }
  for (RowRange some{queries.begin, 0}; some.begin < queries.end; some.begin = some.end) {
    some.end = some.begin;
    std::int64_t pairs = 0;
    while (some.end < queries.end &&
           (pairs == 0 || pairs + counts_[some.end] <= kPairsMergedAtOnce))
      pairs += counts_[some.end++];
    pieces_.clear();
    items_.clear();
    scores_.clear();
    for (Source& source : sources)
      read_pieces(source, some);
    std::ranges::stable_sort(pieces_, {}, &Piece::query);
    std::span<const Piece> rest = pieces_;
    for (std::int64_t query = some.begin; query < some.end; ++query) {
      const auto end =
          std::ranges::find_if(rest, [&](const Piece& piece) { return piece.query != query; });
      const auto of_query = rest.first(end - rest.begin());
      take_row(query, of_query, order, take);
      rest = rest.subspan(of_query.size());
    }
  }
}

/// Reads the pairs of some queries from a run.
void PairMerge::read_pieces(Source& source, RowRange queries) {
  const std::size_t begin = items_.size();
  std::size_t end = begin;
  for (; has_row(source) && source.rows[source.at] < queries.end; ++source.at) {
    const std::size_t count = source.counts[source.at];
    pieces_.push_back({source.rows[source.at], end, count});
    end += count;
  }
  items_.resize(end);
  scores_.resize(end);
  runs_.read_pairs(source.run, source.next_pair, std::span(items_).subspan(begin),
                   std::span(scores_).subspan(begin));
  source.next_pair += static_cast<std::int64_t>(end - begin);
}

void PairMerge::take_row(std::int64_t query, std::span<const Piece> pieces, PairOrder order,
                         const TakeRow& take) {
  row_.clear();
  for (const Piece& piece : pieces) {
    for (std::size_t at = piece.at; at < piece.at + piece.pairs; ++at)
      row_.push_back({items_[at], scores_[at]});
  }
  if (filter_.keep != Keep::kAll && std::ssize(row_) > filter_.count) {
    std::nth_element(row_.begin(), row_.begin() + filter_.count, row_.end(),
                     [&](const ScoredItem& a, const ScoredItem& b) {
                       return rank_key(filter_, query, a.item, a.score) >
                              rank_key(filter_, query, b.item, b.score);
                     });
    row_.resize(filter_.count);
  }
  if (!std::ranges::is_sorted(row_, {}, &ScoredItem::item)) {
    std::ranges::sort(row_, {}, &ScoredItem::item);
  }
  if (order == PairOrder::kByScore) {
    std::stable_sort(row_.begin(), row_.end(),
                     [](const ScoredItem& a, const ScoredItem& b) { return a.score > b.score; });
  }
  row_items_.clear();
  row_scores_.clear();
  for (const ScoredItem& pair : row_) {
    row_items_.push_back(pair.item);
    row_scores_.push_back(pair.score);
  }
  take(query, row_items_, row_scores_);
}

}  // namespace bulksim
