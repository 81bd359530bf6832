#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "bulksim/core/types.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// Items are padded to a multiple of this, the longest step of a kernel.
inline constexpr std::int64_t kBlockAlignment = 64;
/// Padding postings rotate over this many accumulators after the items, so that they do not depend
/// on each other.
inline constexpr std::int64_t kSpareItems = 64;
/// Dense columns begin on a line of this many values.
inline constexpr std::int64_t kLineValues = 16;
/// Row identities cover the segments of 1,024 items of a sub-block.
inline constexpr std::int64_t kSegments = 2;
inline constexpr std::int64_t kMaxBlockItems = kSegments * kFineRows;

/// Four postings of one column, its items ascending. A list ends with postings of value 0.
struct PostingGroup {
  static constexpr std::size_t kSize = 4;

  std::uint16_t items[kSize];
  std::int32_t values[kSize];
};

/// Bytes of a RankedSet of numbers below `size`.
inline constexpr std::int64_t ranked_set_bytes(std::int64_t size) {
  return (size / 64 + 1) * 16;
}

/// How items are laid out for a kernel. No field changes a bit of the result.
struct BlockLayout {
  std::int64_t items = kMaxBlockItems;  ///< per sub-block: 16 KiB of sums stay in the L1 cache
  double dense_share = 0.12;  ///< columns in more than this share of a sub-block's items are dense
  std::int64_t lanes = 1;     ///< 64-bit lanes of the kernel's vectors
};

/// One column that is present in a sub-block: a posting list or a dense column.
struct BlockColumn {
  std::uint32_t start;            ///< first group of postings, or first line of a dense column
  std::uint32_t groups;           ///< groups of postings; 0: a dense column
  std::uint64_t sums[kSegments];  ///< of the values in each segment, modulo 2^64
};

/// A sub-block of items, inverted: for each column its items and values.
///
///   label --present()--> rank --columns()--> posting list: groups of four {item, value}
///                                            dense column: one value per item, 0 where absent
///
/// Dense values are in groups of 2 `lanes` items: even positions hold the first half of a group,
/// odd positions the second, so that a kernel multiplies both halves without a shuffle.
class ItemBlock {
 public:
  void build(const LabelledRows& items, RowRange rows, std::uint32_t labels,
             const BlockLayout& layout);

  std::int64_t items() const { return items_; }
  std::int64_t padded_items() const { return padded(items_); }
  const RankedSet& present() const { return present_; }
  /// Indexed by rank, with an empty one at the end.
  const BlockColumn* columns() const { return columns_.data(); }
  const PostingGroup* postings() const { return postings_.data(); }
  /// padded_items() values per dense column.
  const std::int32_t* dense() const { return dense_.data(); }
  /// QuantizedRows::scales of the items; 0 for padding.
  const double* scales() const { return scales_.data(); }
  /// The smallest scale of the items that have entries, or infinity.
  double least_scale() const { return least_scale_; }

  static std::int64_t padded(std::int64_t items) {
    return divide_up(items, kBlockAlignment) * kBlockAlignment;
  }
  /// Bytes of the blocks of `items` neighbouring items with `nnz` entries, including scratch.
  static std::int64_t bytes(std::int64_t items, std::int64_t nnz, std::int64_t labels,
                            const BlockLayout& layout);

 private:
  void count(const LabelledRows& items, RowRange rows, std::uint32_t labels);
  void place_columns(const BlockLayout& layout);
  void fill(const LabelledRows& items, RowRange rows, std::int64_t lanes);
  void pad();
  void copy_scales(const LabelledRows& items, RowRange rows);

  std::int64_t items_ = 0;
  std::uint32_t members_ = 0;  // columns that are present
  std::uint32_t groups_ = 0;
  std::int64_t dense_columns_ = 0;
  RankedSet present_;
  AlignedBuffer<BlockColumn> columns_;    // by rank
  AlignedBuffer<std::uint32_t> cursors_;  // by rank: entries, then entries placed
  AlignedBuffer<std::uint32_t> ranks_;    // by entry
  AlignedBuffer<PostingGroup> postings_;
  AlignedBuffer<std::int32_t> dense_;  // by dense column and position
  AlignedBuffer<double> scales_;       // by item
  double least_scale_ = 0.0;
};

}  // namespace bulksim
