#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/aligned_buffer.hpp"
#include "backend/labelled_rows.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/vocabulary.hpp"

namespace bulksim {

/// Items are padded to a multiple of this: the longest step of a kernel.
inline constexpr std::int64_t kBlockAlignment = 64;
/// Posting lists are padded to a multiple of this with postings of value 0.
inline constexpr std::uint32_t kPostingGroup = 4;
/// Padding postings go round over this many accumulators behind the items, so that they do not wait
/// for each other.
inline constexpr std::int64_t kSpareItems = 64;
/// Local item numbers have 16 bits.
inline constexpr std::int64_t kMaxBlockItems = 60 * 1024;

/// Memory of a RankedSet of numbers below `size`.
inline constexpr std::int64_t ranked_set_bytes(std::int64_t size) {
  return (size / 64 + 1) * 16;
}

/// How items are laid out for a kernel. No choice here changes a bit of a result.
struct BlockLayout {
  std::int64_t items = 2048;  ///< of a sub-block: accumulators of 16 KiB stay in the L1 cache
  double dense_share = 0.12;  ///< columns in more than this share of a sub-block's items are dense
  std::int64_t lanes = 1;     ///< 64-bit lanes of the kernel's vectors
};

/// One column that is present in a sub-block: a posting list or a dense column.
struct BlockColumn {
  std::uint32_t start;   ///< of its postings or dense values, in groups
  std::uint32_t groups;  ///< groups of postings; 0: a dense column

  std::size_t begin() const { return std::size_t{start} * kPostingGroup; }
};

/// A sub-block of items, inverted: for each column its items and values.
///
///   label --present()--> rank --columns()--> posting list: {item, value}.. padded to groups
///                             |              dense column: one value an item, 0 where it is absent
///                             --column_sums()--> sum of its values in each segment of 1,024 items
///
/// Dense values lie in groups of 2 `lanes` items: even places hold the first half of a group, odd
/// places the second, so that a kernel multiplies both halves where they stand.
class ItemBlock {
 public:
  void build(const LabelledRows& items, RowRange rows, std::uint32_t labels,
             const BlockLayout& layout);

  std::int64_t items() const { return items_; }
  std::int64_t padded_items() const { return padded(items_); }
  std::int64_t segments() const { return divide_up(items_, kFineRows); }
  const RankedSet& present() const { return present_; }
  const BlockColumn* columns() const { return columns_.data(); }
  const std::uint16_t* posting_items() const { return posting_items_.data(); }
  const std::int32_t* posting_values() const { return posting_values_.data(); }
  const std::int32_t* dense() const { return dense_.data(); }
  /// [rank * segments() + segment], modulo 2^64.
  const std::uint64_t* column_sums() const { return column_sums_.data(); }
  std::int64_t dense_columns() const { return dense_columns_; }

  static std::int64_t padded(std::int64_t items) {
    return divide_up(items, kBlockAlignment) * kBlockAlignment;
  }
  /// Memory of the blocks of `items` neighbouring items with `nnz` entries, scratch included.
  static std::int64_t bytes(std::int64_t items, std::int64_t nnz, std::int64_t labels,
                            const BlockLayout& layout);

 private:
  void count(const LabelledRows& items, RowRange rows, std::uint32_t labels);
  void place_columns(const BlockLayout& layout);
  void fill(const LabelledRows& items, RowRange rows, std::int64_t lanes);
  void pad();

  std::int64_t items_ = 0;
  std::uint32_t members_ = 0;  // columns that are present
  std::int64_t dense_columns_ = 0;
  std::size_t postings_ = 0;
  RankedSet present_;
  AlignedBuffer<BlockColumn> columns_;          // by rank
  AlignedBuffer<std::uint32_t> cursors_;        // by rank: entries, then entries placed
  AlignedBuffer<std::uint64_t> column_sums_;    // by rank and segment
  AlignedBuffer<std::uint32_t> ranks_;          // by entry
  AlignedBuffer<std::uint16_t> posting_items_;  // by posting
  AlignedBuffer<std::int32_t> posting_values_;  // by posting
  AlignedBuffer<std::int32_t> dense_;           // by dense column and place
};

}  // namespace bulksim
