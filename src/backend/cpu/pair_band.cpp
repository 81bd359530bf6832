#include "backend/cpu/pair_band.hpp"

#include <algorithm>

namespace bulksim {

void PairBand::begin(const ItemChunk& chunk, RowRange items, const SearchQueries& queries) {
  queries_ = &queries;
  const QueryBatch& batch = queries.batch();
  const bool are_queries = chunk.rows.is_same(batch.rows) && chunk.range == batch.range;
  if (are_queries) {
    rows_ = &queries.rows();
    origin_ = batch.range.begin;
  } else {
    own_rows_.assign(chunk.rows, {items.begin - chunk.range.begin, items.end - chunk.range.begin},
                     queries.vocabulary());
    rows_ = &own_rows_;
    origin_ = items.begin;
  }
  origin_in_chunk_ = origin_ - chunk.range.begin;
  range_ = {items.begin - origin_, items.end - origin_};
  const auto blocks = [&](std::int64_t size) { return divide_up(range_.size(), size); };
  search_blocks_.resize(std::max(std::ssize(search_blocks_), blocks(search_block_)));
  item_blocks_.resize(std::max(std::ssize(item_blocks_), blocks(layout_.items)));
  has_search_block_.assign(search_blocks_.size(), 0);
  has_item_block_.assign(item_blocks_.size(), 0);
  has_join_index_ = false;
  sorted_ = are_queries ? range_ : RowRange{range_.begin, range_.begin};
}

/// Orders the entries of the first items up to `end` by label.
void PairBand::sort(std::int64_t end) {
  if (end <= sorted_.end) return;
  own_rows_.sort_by_label({sorted_.end, end});
  sorted_.end = end;
}

void PairBand::build_sample(JoinIndex& index, RowRange items, double least) {
  sort(items.end);
  index.build(*rows_, items, *queries_, least);
}

RowRange PairBand::block_of(std::int64_t item, std::int64_t size) const {
  const std::int64_t begin = range_.begin + (item - range_.begin) / size * size;
  return {begin, std::min(begin + size, range_.end)};
}

const SearchBlock& PairBand::search_block(std::int64_t item) {
  const std::size_t at = (item - range_.begin) / search_block_;
  if (has_search_block_[at] == 0) search_blocks_[at].build(*rows_, search_range(item), *queries_);
  has_search_block_[at] = 1;
  return search_blocks_[at];
}

const ItemBlock& PairBand::item_block(std::int64_t item) {
  const std::size_t at = (item - range_.begin) / layout_.items;
  if (has_item_block_[at] == 0) {
    item_blocks_[at].build(*rows_, item_range(item), queries_->vocabulary().size(), layout_);
  }
  has_item_block_[at] = 1;
  return item_blocks_[at];
}

const JoinIndex& PairBand::join_index(double least) {
  if (has_join_index_) return join_index_;
  sort(range_.end);
  join_index_.build(*rows_, range_, *queries_, least);
  has_join_index_ = true;
  return join_index_;
}

}  // namespace bulksim
