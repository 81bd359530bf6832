#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Items of one index: their numbers take 16 bits.
inline constexpr std::int64_t kJoinItems = std::int64_t{1} << 16;

/// One entry of an item, relative to the longest item of the index.
struct JoinPosting {
  std::uint16_t before;  ///< length of the more frequent columns of the item * 2^14, rounded up
  std::int16_t value;    ///< round(value * 2^14)
};

/// The rare columns of neighbouring items, inverted for the join.
///
/// The prefix of an item are its most frequent columns, as long as their length times that of any
/// query cannot reach the wanted score. Only what follows, the suffix, has postings.
class JoinIndex {
 public:
  /// `items` are ordered by label; with any query of the batch, scores below `least` are not
  /// wanted.
  void build(const LabelledRows& items, RowRange rows, const SearchQueries& queries, double least);

  RowRange rows() const { return rows_; }
  /// The postings of a label are those from begin(label) to begin(label + 1), items ascending.
  std::uint32_t begin(std::uint32_t label) const { return begins_[label]; }
  const std::uint32_t* begins() const { return begins_.data(); }
  /// Some more can be read behind the last.
  const JoinPosting* postings() const { return postings_.data(); }
  /// Item of each posting, within rows().
  const std::uint16_t* items() const { return items_.data(); }
  /// The lowest product of unit query and relative item with a score of at least `least`: the score
  /// over the lengths of the query and of the longest item. Above 1 where no item can have it.
  double relative(double least, const SearchQueries& queries, std::int64_t query) const;

  static std::int64_t bytes(std::int64_t nnz, std::int64_t labels);

 private:
  void measure(const LabelledRows& items);
  template <class Take>
  void for_each_suffix_entry(const LabelledRows& items, double least, Take&& take) const;

  RowRange rows_;
  double unit_ = 1.0;     // the largest scale of the items
  double longest_ = 0.0;  // length of the longest item, of its quantized values times scale / unit_
  std::vector<std::uint32_t> begins_;  // by label
  AlignedBuffer<JoinPosting> postings_;
  AlignedBuffer<std::uint16_t> items_;
};

}  // namespace bulksim
