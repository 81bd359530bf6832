#include "backend/search/join_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kPadding = 64;  // postings that a vector load may read behind the last
constexpr double kOne = 1 << kCoarseBits;
constexpr double kDown = 1.0 - 0x1p-40;  // more than the rounding errors of a few operations

}  // namespace

void JoinIndex::build(const LabelledRows& items, RowRange rows, const SearchQueries& queries,
                      double least) {
  BULKSIM_EXPECT(rows.size() <= kJoinItems);
  rows_ = rows;
  measure(items);
  double lowest = std::numeric_limits<double>::infinity();  // of any query
  for (std::int64_t query = 0; query < queries.rows().rows(); ++query)
    lowest = std::min(lowest, relative(least, queries, query));

  begins_.assign(std::size_t{queries.vocabulary().size()} + 2, 0);
  for_each_suffix_entry(
      items, lowest, [&](std::uint32_t label, std::int64_t, JoinPosting) { ++begins_[label + 2]; });
  for (std::size_t label = 2; label < begins_.size(); ++label)
    begins_[label] += begins_[label - 1];
  postings_.require(begins_.back() + kPadding);
  items_.require(begins_.back() + kPadding);
  std::fill_n(postings_.data() + begins_.back(), kPadding, JoinPosting{});
  // begins_[label + 1] is the place of the next posting until all are placed
  for_each_suffix_entry(items, lowest,
                        [&](std::uint32_t label, std::int64_t item, JoinPosting posting) {
                          const std::uint32_t at = begins_[label + 1]++;
                          postings_.data()[at] = posting;
                          items_.data()[at] = static_cast<std::uint16_t>(item);
                        });
}

void JoinIndex::measure(const LabelledRows& items) {
  unit_ = 0.0;
  for (std::int64_t row = rows_.begin; row < rows_.end; ++row)
    unit_ = std::max(unit_, items.scale(row));
  if (unit_ == 0.0) unit_ = 1.0;
  longest_ = 0.0;
  for (std::int64_t row = rows_.begin; row < rows_.end; ++row) {
    double squares = 0.0;
    for (const LabelledEntry& entry : items.row(row))
      squares += static_cast<double>(entry.value) * entry.value;
    const double scale = items.scale(row) / unit_;
    longest_ = std::max(longest_, squares * scale * scale);
  }
  longest_ = std::sqrt(longest_);
}

double JoinIndex::relative(double least, const SearchQueries& queries, std::int64_t query) const {
  const double lengths = queries.norm(query) * longest_;
  if (lengths == 0.0) return std::numeric_limits<double>::infinity();
  constexpr double kLeastScore = std::numeric_limits<float>::denorm_min();
  const double rounding = std::fabs(least) * 0x1p-23 + kLeastScore;  // a score is a float32
  return (least - rounding) / (queries.scale(query) * unit_) / lengths * kDown;
}

/// Calls `take` with the label, the item within rows() and the posting of each entry of a suffix.
template <class Take>
void JoinIndex::for_each_suffix_entry(const LabelledRows& items, double least, Take&& take) const {
  if (longest_ == 0.0) return;
  const double least_squared = least * least * kDown;
  for (std::int64_t row = rows_.begin; row < rows_.end; ++row) {
    const double factor = items.scale(row) / unit_ / longest_;
    double squares = 0.0;
    for (const LabelledEntry& entry : items.row(row)) {
      const double value = entry.value * factor;
      const double before = squares;
      squares += value * value;
      if (squares < least_squared) continue;
      take(entry.label, row - rows_.begin,
           JoinPosting{static_cast<std::uint16_t>(std::ceil(std::sqrt(before) * (kOne / kDown))),
                       static_cast<std::int16_t>(round_half_even(value * kOne))});
    }
  }
}

std::int64_t JoinIndex::bytes(std::int64_t nnz, std::int64_t labels) {
  constexpr std::int64_t kPosting = sizeof(JoinPosting) + sizeof(std::uint16_t);
  return kPosting * nnz + std::int64_t{sizeof(std::uint32_t)} * labels;
}

}  // namespace bulksim
