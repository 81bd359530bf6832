#include "backend/search/pair_join.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/rows/prefetch.hpp"

namespace bulksim {

namespace {

// How many candidates ahead a row is fetched, and where it begins.
constexpr std::size_t kRowsAhead = 6;
constexpr std::size_t kOffsetsAhead = 14;
constexpr std::size_t kRowBytesAhead = 128;
// The values of postings are off by half of 2^-14, and a few float32 operations by less than the
// rest.
constexpr double kSlack = 0x1p-15 + 0x1p-18;

}  // namespace

void PairJoin::begin_queries(const SearchQueries& queries) {
  queries_ = &queries;
  query_values_.assign(std::size_t{queries.vocabulary().size()} + 1, 0);  // read in pairs
}

void PairJoin::prefetch(std::int64_t query, const JoinIndex& index) const {
  const auto entries = queries_->row(query);
  const std::size_t last = std::min<std::size_t>(entries.size(), 8);
  for (std::size_t at = entries.size() - last; at < entries.size(); ++at)
    bulksim::prefetch(index.begins() + entries[at].label, 1);
}

void PairJoin::find(const SearchGoal& goal, RowRange wanted, const JoinIndex& index,
                    const LabelledRows& items, std::vector<ExactPair>& out) {
  work_.cells += wanted.size();
  const double least = index.relative(goal.score, *queries_, goal.query);
  if (least > 1.0 + 0x1p-20) return;
  collect(goal, wanted, index, least);
  test(index, static_cast<float>((least - kSlack) * (1 << kCoarseBits)));
  if (candidate_count_ > 0) make_exact(goal.query, index, items, out);
}

/// The lists of the query's suffix, as far as they are of `wanted`.
void PairJoin::collect(const SearchGoal& goal, RowRange wanted, const JoinIndex& index,
                       double least) {
  const auto entries = queries_->row(goal.query);
  const auto units = queries_->unit_row(goal.query);
  const std::uint16_t* items = index.items();
  const std::int64_t first = wanted.begin - index.rows().begin;
  const std::int64_t end = wanted.end - index.rows().begin;
  lists_.clear();
  float up_to = 1.0f + 0x1p-20f;  // length of the entries that are left
  for (std::size_t at = entries.size(); at-- > 0 && up_to >= least;) {
    const std::uint32_t label = entries[at].label;
    const float value = entries[at].value < 0 ? -units[at].size : units[at].size;
    List list{index.begin(label), index.begin(label + 1), value, units[at].before};
    up_to = units[at].before;
    if (first > 0) {
      list.at = static_cast<std::uint32_t>(
          std::lower_bound(items + list.at, items + list.end, first) - items);
    }
    if (wanted.end < index.rows().end) {
      list.end = static_cast<std::uint32_t>(
          std::lower_bound(items + list.at, items + list.end, end) - items);
    }
    if (list.at == list.end) continue;
    bulksim::prefetch(index.postings() + list.at, 1);
    bulksim::prefetch(items + list.at, 1);
    lists_.push_back(list);
  }
}

/// Streams the postings through the test; an item may pass several times.
void PairJoin::test(const JoinIndex& index, float limit) {
  candidate_count_ = 0;
  for (const List& list : lists_) {
    const std::size_t size = list.end - list.at;
    candidates_.resize(std::max(candidates_.size(), candidate_count_ + size));
    candidate_count_ +=
        kernel_.test(index.postings() + list.at, index.items() + list.at, size,
                     {list.value, list.before, limit}, candidates_.data() + candidate_count_);
    work_.products += static_cast<std::int64_t>(size);
  }
}

void PairJoin::make_exact(std::int64_t query, const JoinIndex& index, const LabelledRows& items,
                          std::vector<ExactPair>& out) {
  if (++turn_ == 0) {  // 2^32 queries
    std::ranges::fill(seen_, 0U);
    turn_ = 1;
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < candidate_count_; ++at) {
    const std::uint16_t item = candidates_[at];
    candidates_[kept] = item;
    kept += std::exchange(seen_[item], turn_) != turn_;
  }
  const auto entries = queries_->row(query);
  std::int32_t* values = query_values_.data();
  for (const LabelledEntry& entry : entries)
    values[entry.label] = entry.value;
  const std::int64_t first = index.rows().begin;
  for (std::size_t at = 0; at < kept; ++at) {
    if (at + kOffsetsAhead < kept) items.prefetch_offset(first + candidates_[at + kOffsetsAhead]);
    if (at + kRowsAhead < kept) {
      bulksim::prefetch(items.row(first + candidates_[at + kRowsAhead]).data(), kRowBytesAhead);
    }
    const std::int64_t item = first + candidates_[at];
    const auto row = items.row(item);
    const SplitSum sum = kernel_.multiply(row.data(), row.size(), values, 0);
    out.push_back({item, sum.others});
  }
  for (const LabelledEntry& entry : entries)
    values[entry.label] = 0;
  work_.candidates += static_cast<std::int64_t>(kept);
}

PairStats PairJoin::take_work() {
  return std::exchange(work_, {});
}

std::int64_t PairJoin::bytes(std::int64_t labels) {
  return std::int64_t{sizeof(std::int32_t)} * (labels + kJoinItems);
}

}  // namespace bulksim
