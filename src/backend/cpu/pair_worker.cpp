#include "backend/cpu/pair_worker.hpp"

#include <algorithm>
#include <cmath>

#include "bulksim/core/error.hpp"

namespace bulksim {

PairWorker::PairWorker(const CpuBackendOptions& options, const PairFilterSpec& spec, int thread)
    : options_(options), spec_(spec), thread_(thread), search_(SearchKernel::best()) {
  const std::int64_t width = std::min(options.search_block, kSearchItems);
  options_.search_block = width;
  blocks_.resize(divide_up(options.grid.tile().items, width));
}

void PairWorker::begin_queries(const SearchQueries& queries, TopKHeaps* best) {
  queries_ = &queries;
  best_ = best;
  search_.begin_queries(queries);
}

void PairWorker::begin_column(const ItemChunk& chunk, std::int64_t column) {
  chunk_ = &chunk;
  const RowRange items = options_.grid.items(column);
  local_items_ = {items.begin - chunk.range.begin, items.end - chunk.range.begin};
  items_.assign(chunk.rows, local_items_, queries_->vocabulary());
  block_count_ = 0;
  for (std::int64_t begin = 0; begin < items.size(); begin += options_.search_block) {
    const std::int64_t end = std::min(begin + options_.search_block, items.size());
    blocks_[block_count_++].build(items_, {begin, end}, *queries_);
  }
}

std::int64_t PairWorker::compute(TileId tile, PairWriter& writer) {
  const RowRange rows = options_.grid.queries(tile.row);
  const auto cells = sampled_cells(options_.grid.number(tile), rows.size(), local_items_.size());
  std::int64_t again = 0;
  writer.begin(tile);
  // each thread starts at a different row, so that threads do not contend for the heap of one query
  const std::int64_t first = rows.size() * thread_ / options_.threads;
  auto cell = std::ranges::lower_bound(cells, first, {}, &Cell::row);
  for (std::int64_t step = 0; step < rows.size(); ++step) {
    const std::int64_t of_tile = (first + step) % rows.size();
    if (of_tile == 0) cell = cells.begin();
    const auto row_cells = cell;
    while (cell != cells.end() && cell->row == of_tile)
      ++cell;
    const std::int64_t query = rows.begin + of_tile;
    const std::int64_t row = query - queries_->batch().range.begin;
    if (best_ != nullptr) best_->prefetch(row);
    if (!row_holds(tile, row, {row_cells, cell})) {
      again = 1;
      if (!row_holds(tile, row, {row_cells, cell})) throw wrong_twice(tile);
    }
    if (best_ != nullptr) pending_.push_to(*best_);
    if (!pairs_.empty()) writer.write({query, pairs_});
  }
  writer.finish();
  return again;
}

/// Finds and checks the pairs of one query row of the batch in a tile.
bool PairWorker::row_holds(TileId tile, std::int64_t row, std::span<const Cell> cells) {
  const std::uint64_t floor = best_ == nullptr ? 0 : best_->floor(row);
  if (!find_row(row, floor)) return false;
  if (options_.before_checks) {
    for (ScoredItem& pair : pairs_)
      options_.before_checks(tile, {&pair.score, 1});
  }
  return samples_hold(row, cells, floor);
}

/// Fills pairs_ with the pairs of one query row of the batch in the tile.
bool PairWorker::find_row(std::int64_t row, std::uint64_t floor) {
  const std::int64_t query = queries_->batch().range.begin + row;
  const std::int64_t first_item = chunk_->range.begin + local_items_.begin;
  pairs_.clear();
  rank_keys_ = {};
  pending_.begin();
  if (query < spec_.queries.begin || query >= spec_.queries.end) return true;
  for (std::size_t at = 0; at < block_count_; ++at) {
    const SearchBlock& block = blocks_[at];
    found_.clear();
    const RowRange items{first_item + block.rows().begin, first_item + block.rows().end};
    if (!spec_.touches({query, query + 1}, items)) continue;
    const float least = least_score(floor, items.begin);
    const std::int64_t most = spec_.count + (spec_.partners == Partners::kAll ? 0 : 1);
    const bool all_count = spec_.items.begin <= items.begin && items.end <= spec_.items.end &&
                           spec_.is_two_sided() && std::isinf(spec_.below);
    const bool from_none = spec_.keep == Keep::kBest && floor == 0 && all_count;
    const std::int64_t zeros = all_count ? most : block.items();
    const SearchGoal goal{row, least, from_none ? most : 0, least <= 0.0f ? zeros : 0};
    if (!search_.find(goal, block, items_, found_)) return false;
    for (const ExactPair& pair : found_) {
      const ScoredItem scored{first_item + pair.item,
                              score(row, local_items_.begin + pair.item, pair.sum)};
      if (spec_.admits(query, scored.item, scored.score)) pairs_.push_back(scored);
    }
  }
  if (spec_.keep != Keep::kAll) rank_keys_ = pending_.keep(spec_, query, row, floor, pairs_);
  return true;
}

/// The lowest score that is wanted of an item numbered `first_item` or higher.
float PairWorker::least_score(std::uint64_t floor, std::int64_t first_item) const {
  if (spec_.keep != Keep::kBest || floor == 0) return spec_.at_least;
  const float score = score_of(floor);
  const bool ties_lose = first_item > item_of(floor);
  return std::max(spec_.at_least, ties_lose ? std::nextafter(score, HUGE_VALF) : score);
}

/// The score of a query row of the batch and an item of the chunk.
float PairWorker::score(std::int64_t row, std::int64_t local_item, std::int64_t sum) const {
  return score_of_sum(sum, queries_->batch().rows, row, chunk_->rows, local_item);
}

/// Whether a sampled cell of a row is among its pairs exactly if the score from a merge of the two
/// rows is wanted.
bool PairWorker::samples_hold(std::int64_t row, std::span<const Cell> cells,
                              std::uint64_t floor) const {
  const std::int64_t query = queries_->batch().range.begin + row;
  const auto least = std::ranges::min_element(rank_keys_);
  const bool full = spec_.keep != Keep::kAll && std::ssize(pairs_) >= spec_.count;
  for (const Cell& cell : cells) {
    const std::int64_t local = local_items_.begin + cell.item;
    const std::int64_t item = chunk_->range.begin + local;
    const float expected = exact_score(queries_->batch().rows, row, chunk_->rows, local);
    bool wanted = spec_.admits(query, item, expected);
    if (wanted && spec_.keep != Keep::kAll) {
      const std::uint64_t key = rank_key(spec_, query, item, expected);
      wanted = key > floor && (!full || key >= *least);
    }
    const auto at = std::ranges::lower_bound(pairs_, item, {}, &ScoredItem::item);
    const bool found = at != pairs_.end() && at->item == item;
    if (found != wanted || (found && at->score != expected)) return false;
  }
  return true;
}

std::int64_t PairWorker::bytes(const CpuBackendOptions& options, std::int64_t query_nnz,
                               std::int64_t labels, std::int64_t tile_nnz) {
  const TileShape& tile = options.grid.tile();
  const std::int64_t blocks = divide_up(tile.items, std::min(options.search_block, kSearchItems));
  return LabelledRows::bytes(tile.items, tile_nnz) + SearchBlock::bytes(tile_nnz, labels) +
         blocks * ranked_set_bytes(labels) +
         PairSearch::bytes(std::min(query_nnz, labels), labels, options.grid.shape().queries);
}

}  // namespace bulksim
