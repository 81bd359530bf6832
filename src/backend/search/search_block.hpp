#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/core/types.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// Items of one block: their sums, 4 bytes each, stay in the L1 cache.
inline constexpr std::int64_t kSearchItems = 4096;
/// Items that a sweep decides on together, one bit per item; blocks are padded to a multiple.
inline constexpr std::int64_t kSweptAtOnce = 64;

struct CoarsePosting {
  std::uint16_t item;   ///< within the block
  std::int16_t coarse;  ///< round(scaled value / largest length of the block * 2^14)
};

/// A column of the block: its postings, and the values that bound and check them.
struct SearchColumn {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  std::int32_t sum = 0;   ///< of the coarse values, from the rows
  std::int32_t peak = 0;  ///< largest |coarse|
};

/// Neighbouring items, inverted for bounds: coarse postings by column, and the length of each item
/// in its most frequent columns.
class SearchBlock {
 public:
  /// Builds the block from `rows` of `items`, which must outlive it.
  void build(const LabelledRows& items, RowRange rows, const SearchQueries& queries);

  RowRange rows() const { return rows_; }
  std::int64_t items() const { return rows_.size(); }
  const RankedSet& present() const { return present_; }
  /// Indexed by rank, with an empty one at the end.
  const SearchColumn* columns() const { return columns_.data(); }
  const CoarsePosting* postings() const { return postings_.data(); }
  /// The largest LabelledRows::scale of the rows of the block: scales are relative to it, so that
  /// lengths neither overflow nor vanish.
  double unit() const { return unit_; }
  double relative_scale(double scale) const { return scale / unit_; }
  /// Largest length of a row of the block: of its quantized values times its relative scale,
  /// without columns outside the vocabulary.
  double norm() const { return norm_; }
  /// Length of each item in the labels of the bands up to `band`, divided by norm(), rounded up;
  /// padded with zeros to a multiple of kSweptAtOnce items.
  const float* lengths(std::size_t band) const { return lengths_.data() + band * padded_; }
  float longest(std::size_t band) const { return longest_[band]; }
  float mean(std::size_t band) const { return mean_[band]; }
  std::size_t padded() const { return padded_; }

  static std::int64_t bytes(std::int64_t nnz, std::int64_t labels);

 private:
  void measure(const LabelledRows& items, const SearchQueries& queries);
  void invert(const LabelledRows& items, std::uint32_t labels);

  RowRange rows_;
  std::size_t padded_ = 0;
  double norm_ = 0.0;
  double unit_ = 1.0;
  RankedSet present_;
  AlignedBuffer<SearchColumn> columns_;  // by rank
  AlignedBuffer<std::uint32_t> ranks_;   // by entry
  AlignedBuffer<CoarsePosting> postings_;
  AlignedBuffer<float> lengths_;  // by band and item
  float longest_[kBands] = {};
  float mean_[kBands] = {};
};

}  // namespace bulksim
