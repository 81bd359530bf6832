#include "backend/rows/item_blocks.hpp"

#include <algorithm>
#include <limits>

namespace bulksim {

namespace {

std::size_t to_size(std::int64_t value) {
  return value;
}

/// Position of an item in a dense column.
std::size_t dense_place(std::int64_t item, std::int64_t lanes) {
  const std::int64_t in_group = item % (2 * lanes);
  return to_size(item - in_group + in_group % lanes * 2 + in_group / lanes);
}

}  // namespace

void ItemBlock::build(const LabelledRows& items, RowRange rows, std::uint32_t labels,
                      const BlockLayout& layout) {
  BULKSIM_EXPECT(0 < rows.size() && rows.size() <= kMaxBlockItems);
  items_ = rows.size();
  count(items, rows, labels);
  place_columns(layout);
  fill(items, rows, layout.lanes);
  pad();
  copy_scales(items, rows);
}

/// Finds the columns that are present and counts the entries of each.
void ItemBlock::count(const LabelledRows& items, RowRange rows, std::uint32_t labels) {
  const auto entries = items.entries(rows);
  present_.reset(labels);
  for (const LabelledEntry& entry : entries)
    present_.insert(entry.label);
  members_ = present_.rank();

  ranks_.require(entries.size());
  cursors_.require(members_);
  std::fill_n(cursors_.data(), members_, 0U);
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    const std::uint32_t rank = present_.find(entries[entry].label);
    ranks_.data()[entry] = rank;
    ++cursors_.data()[rank];
  }
}

/// Decides which columns are dense and where each begins.
void ItemBlock::place_columns(const BlockLayout& layout) {
  const double dense_from = layout.dense_share * static_cast<double>(items_);
  const auto dense_lines = static_cast<std::uint32_t>(padded_items() / kLineValues);
  constexpr std::uint32_t kSize = PostingGroup::kSize;
  groups_ = 0;
  dense_columns_ = 0;
  columns_.require(std::size_t{members_} + 1);
  columns_.data()[members_] = {};
  for (std::uint32_t rank = 0; rank < members_; ++rank) {
    std::uint32_t& entries = cursors_.data()[rank];
    BlockColumn& column = columns_.data()[rank];
    if (static_cast<double>(entries) > dense_from) {
      column = {static_cast<std::uint32_t>(dense_columns_++) * dense_lines, 0, {}};
    } else {
      column = {groups_, (entries + kSize - 1) / kSize, {}};
      groups_ += column.groups;
    }
    entries = 0;
  }
}

void ItemBlock::fill(const LabelledRows& items, RowRange rows, std::int64_t lanes) {
  const std::size_t dense_values = to_size(dense_columns_ * padded_items());
  postings_.require(groups_);
  dense_.require(dense_values);
  std::fill_n(dense_.data(), dense_values, 0);

  const std::uint32_t* rank = ranks_.data();
  for (std::int64_t item = 0; item < items_; ++item) {
    const std::size_t place = dense_place(item, lanes);
    const std::size_t segment = to_size(item / kFineRows);
    for (const LabelledEntry& entry : items.row(rows.begin + item)) {
      BlockColumn& column = columns_.data()[*rank];
      column.sums[segment] += static_cast<std::uint64_t>(entry.value);
      if (column.groups == 0) {
        dense_.data()[column.start * to_size(kLineValues) + place] = entry.value;
      } else {
        const std::uint32_t at = cursors_.data()[*rank]++;
        PostingGroup& group = postings_.data()[column.start + at / PostingGroup::kSize];
        group.items[at % PostingGroup::kSize] = static_cast<std::uint16_t>(item);
        group.values[at % PostingGroup::kSize] = entry.value;
      }
      ++rank;
    }
  }
}

/// Fills the last group of each list with postings that add 0 to accumulators that are never read.
void ItemBlock::pad() {
  const auto spare = static_cast<std::uint32_t>(padded_items());
  constexpr std::uint32_t kSize = PostingGroup::kSize;
  for (std::uint32_t rank = 0; rank < members_; ++rank) {
    const BlockColumn& column = columns_.data()[rank];
    for (std::uint32_t at = cursors_.data()[rank]; at < column.groups * kSize; ++at) {
      PostingGroup& group = postings_.data()[column.start + at / kSize];
      group.items[at % kSize] = static_cast<std::uint16_t>(spare + (rank + at) % kSpareItems);
      group.values[at % kSize] = 0;
    }
  }
}

void ItemBlock::copy_scales(const LabelledRows& items, RowRange rows) {
  scales_.require(padded_items());
  least_scale_ = std::numeric_limits<double>::infinity();
  for (std::int64_t item = 0; item < items_; ++item) {
    const double scale = items.scale(rows.begin + item);
    scales_.data()[item] = scale;
    if (scale != 0.0) least_scale_ = std::min(least_scale_, scale);
  }
  std::fill(scales_.data() + items_, scales_.data() + padded_items(), 0.0);
}

std::int64_t ItemBlock::bytes(std::int64_t items, std::int64_t nnz, std::int64_t labels,
                              const BlockLayout& layout) {
  const std::int64_t blocks = divide_up(items, layout.items);
  const std::int64_t members =
      blocks * std::min(labels, divide_up(nnz, std::max<std::int64_t>(blocks, 1)));
  constexpr std::int64_t kPostingBytes = sizeof(PostingGroup) / PostingGroup::kSize;
  // record and cursor of a rank, and the padding of its list
  constexpr std::int64_t kMemberBytes =
      std::int64_t{sizeof(BlockColumn) + sizeof(std::uint32_t)} + 3 * kPostingBytes / 2;
  // estimate: half of the entries are in columns twice as full as the dense threshold
  const auto dense_bytes =
      static_cast<std::int64_t>(static_cast<double>(nnz) / std::max(layout.dense_share, 0.01));
  return blocks * ranked_set_bytes(labels) + members * kMemberBytes +
         blocks * padded(std::min(items, layout.items)) * std::int64_t{sizeof(double)} +
         nnz * (std::int64_t{sizeof(std::uint32_t)} + kPostingBytes) + dense_bytes;
}

}  // namespace bulksim
