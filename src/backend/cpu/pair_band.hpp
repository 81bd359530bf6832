#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "backend/search/join_index.hpp"
#include "backend/search/search_block.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

/// Neighbouring items of a chunk, at most kJoinItems, and what the ways of finding pairs read of
/// them, which is inverted when it is first asked for.
///
/// Items are numbered as the rows of `rows()`. Where the items are queries as well, these are the
/// rows of the batch, which all threads share.
class PairBand {
 public:
  PairBand(const BlockLayout& layout, std::int64_t search_block)
      : layout_(layout), search_block_(search_block) {}

  /// `items` are rows of the matrix. All must outlive the use of the band.
  void begin(const ItemChunk& chunk, RowRange items, const SearchQueries& queries);

  const LabelledRows& rows() const { return *rows_; }
  RowRange range() const { return range_; }
  /// The row of the matrix that is row 0 of rows().
  std::int64_t origin() const { return origin_; }
  /// The row of the chunk that is row 0 of rows().
  std::int64_t origin_in_chunk() const { return origin_in_chunk_; }

  /// Items of the block that contains an item.
  RowRange search_range(std::int64_t item) const { return block_of(item, search_block_); }
  RowRange item_range(std::int64_t item) const { return block_of(item, layout_.items); }
  const SearchBlock& search_block(std::int64_t item);
  const ItemBlock& item_block(std::int64_t item);
  /// Scores below `least` are not wanted of any query.
  const JoinIndex& join_index(double least);
  /// Builds the index of the first items of the band.
  void build_sample(JoinIndex& index, RowRange items, double least);

 private:
  void sort(std::int64_t end);
  RowRange block_of(std::int64_t item, std::int64_t size) const;

  BlockLayout layout_;
  std::int64_t search_block_;
  const SearchQueries* queries_ = nullptr;
  const LabelledRows* rows_ = nullptr;
  LabelledRows own_rows_;
  RowRange range_;
  RowRange sorted_;  // items whose entries are ordered by label
  std::int64_t origin_ = 0;
  std::int64_t origin_in_chunk_ = 0;
  std::vector<SearchBlock> search_blocks_;
  std::vector<char> has_search_block_;
  std::vector<ItemBlock> item_blocks_;
  std::vector<char> has_item_block_;
  JoinIndex join_index_;
  bool has_join_index_ = false;
};

}  // namespace bulksim
