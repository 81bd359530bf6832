#include "backend/cpu/tile_worker.hpp"

#include <algorithm>

#include "blocks/fine_grid.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kStripeBytes = 1 << 20;  // half of a typical L2 cache

std::int64_t rows_of_a_stripe(const TileShape& tile) {
  const std::int64_t row_bytes = tile.items * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kStripeBytes / row_bytes, 1, tile.queries);
}

std::size_t to_size(std::int64_t value) {
  return value;
}

/// A fine block must not be split: its partials are computed together.
std::int64_t items_of_a_block(const CpuBackendOptions& options) {
  if (options.content == TileContent::kValues) return options.sub_block;
  return divide_up(options.sub_block, kFineRows) * kFineRows;
}

/// Column sums of the blocks of a column of tiles, each padded.
std::int64_t padded_column(std::int64_t items, std::int64_t sub_block) {
  return divide_up(items, sub_block) * ItemBlock::padded(std::min(items, sub_block));
}

}  // namespace

LabelledQueries::LabelledQueries(const QueryBatch& queries)
    : batch(queries), vocabulary(queries.rows) {
  rows.assign(queries.rows, {0, queries.rows->rows()}, vocabulary);
}

TileWorker::TileWorker(const CpuBackendOptions& options, const CpuKernel& kernel)
    : options_(options),
      kernel_(kernel),
      layout_{items_of_a_block(options), options.dense_share, kernel.lanes()},
      stripe_rows_(rows_of_a_stripe(options.grid.tile())) {
  const TileShape& tile = options_.grid.tile();
  blocks_.resize(to_size(divide_up(tile.items, layout_.items)));
  stripe_.require(to_size(stripe_rows_ * tile.items));
  column_sums_.require(to_size(padded_column(tile.items, layout_.items)));
  partials_.resize(to_size(stripe_rows_ * partial_blocks()));
}

/// Fine blocks along the items of a tile; 0 if no partials are requested.
std::int64_t TileWorker::partial_blocks() const {
  if (options_.content == TileContent::kValues) return 0;
  return FineGrid(options_.grid).columns_of_a_tile();
}

/// Inverts the items of a column of tiles.
void TileWorker::begin_column(const TileBatch& batch) {
  if (batch.number == chunk_number_ && batch.tiles.front().column == column_) return;
  chunk_number_ = batch.number;
  column_ = batch.tiles.front().column;
  chunk_ = batch.chunk.get();
  const RowRange items = options_.grid.items(column_);
  local_items_ = {items.begin - chunk_->range.begin, items.end - chunk_->range.begin};
  items_.assign(chunk_->rows, local_items_, queries_->vocabulary);
  std::int64_t begin = 0;
  for (ItemBlock& block : blocks_) {
    const std::int64_t end = std::min(begin + layout_.items, items.size());
    if (begin < end) block.build(items_, {begin, end}, queries_->vocabulary.size(), layout_);
    begin = end;
  }
  const Signs signs = common_signs(queries_->rows, items_);
  function_ = kernel_.function(options_.arithmetic, signs, Identities::kRowsAndColumns,
                               partials_.empty() ? Partials::kOff : Partials::kOn);
  scratch_.require(std::min(layout_.items, items.size()), queries_->rows.longest());
}

std::int64_t TileWorker::compute(const TileBatch& batch, TileWriter& writer,
                                 const std::function<bool()>& is_over) {
  begin_column(batch);
  std::int64_t recomputed = 0;
  for (const TileId tile : batch.tiles) {
    if (is_over()) break;
    recomputed += compute_tile(tile, writer);
  }
  return recomputed;
}

std::int64_t TileWorker::compute_tile(TileId tile, TileWriter& writer) {
  for (std::int64_t failed = 0; failed < 2; ++failed) {
    if (compute_once(tile, writer)) {
      writer.finish();
      return failed;
    }
  }
  throw wrong_twice(tile);
}

bool TileWorker::compute_once(TileId tile, TileWriter& writer) {
  const TileShape& shape = options_.grid.tile();
  const RowRange rows = options_.grid.queries(tile.row);
  const std::int64_t first = queries_->batch.range.begin;
  local_rows_ = {rows.begin - first, rows.end - first};
  const auto cells =
      sampled_cells(options_.grid.number(tile), local_rows_.size(), local_items_.size());
  std::span<const Cell> cells_left(cells);
  std::fill_n(column_sums_.data(), column_sums_.size(), std::int64_t{0});

  writer.begin(tile);
  for (std::int64_t row = 0; row < shape.queries; row += stripe_rows_) {
    const RowRange stripe{row, std::min(row + stripe_rows_, shape.queries)};
    if (!compute_stripe(stripe)) return false;
    const std::span values(stripe_.data(), to_size(stripe.size() * shape.items));
    if (options_.before_checks) options_.before_checks(tile, values);
    if (!samples_hold(stripe, cells_left)) return false;
    writer.write({tile, stripe.begin, stripe.size(), values,
                  std::span(partials_).first(to_size(stripe.size() * partial_blocks()))});
  }
  return columns_hold(local_rows_);
}

/// Computes rows of the tile, including those past the edge; false if a row identity does not hold.
bool TileWorker::compute_stripe(RowRange rows) {
  const std::int64_t width = options_.grid.tile().items;
  const std::int64_t valid =
      std::clamp<std::int64_t>(local_rows_.size() - rows.begin, 0, rows.size());
  BlockTask task;
  task.queries = &queries_->rows;
  task.rows = {local_rows_.begin + rows.begin, local_rows_.begin + rows.begin + valid};
  task.out_stride = width;
  std::ranges::fill(partials_, SoftmaxPartial{});
  task.partials = partials_.data();
  task.partial_stride = partial_blocks();
  task.exp_scale = exp_scale(options_.softmax_scale);
  task.scratch = &scratch_;
  std::int64_t failed = 0;
  std::int64_t item = 0;
  std::int64_t* column_sums = column_sums_.data();
  for (const ItemBlock& block : blocks_) {
    if (item >= local_items_.size()) break;
    task.block = &block;
    task.out = stripe_.data() + item;
    task.column_sums = column_sums;
    failed += function_(task);
    item += block.items();
    column_sums += block.padded_items();
    task.partials += divide_up(block.items(), kFineRows);
  }
  for (std::int64_t row = 0; row < valid && item < width; ++row) {
    std::fill_n(stripe_.data() + row * width + item, width - item, 0.0f);
  }
  std::fill_n(stripe_.data() + valid * width, (rows.size() - valid) * width, 0.0f);
  return failed == 0;
}

/// Checks the sampled cells of a stripe, and for some of them the partial, and drops them from
/// `cells`.
bool TileWorker::samples_hold(RowRange rows, std::span<const Cell>& cells) const {
  const std::int64_t width = options_.grid.tile().items;
  for (; !cells.empty() && cells.front().row < rows.end; cells = cells.subspan(1)) {
    const Cell& cell = cells.front();
    const float value = stripe_.data()[(cell.row - rows.begin) * width + cell.item];
    if (!is_score_of(value, queries_->batch.rows, local_rows_.begin + cell.row, chunk_->rows,
                     local_items_.begin + cell.item)) {
      return false;
    }
    if (!partials_.empty() && cells.size() % kCellsPerPartial == 0 &&
        !partial_holds(cell.row - rows.begin, cell.row, cell.item)) {
      return false;
    }
  }
  return true;
}

/// Recomputes the partial of a row's fine block. `row` and `item` are relative to the tile.
bool TileWorker::partial_holds(std::int64_t stripe_row, std::int64_t row, std::int64_t item) const {
  const std::int64_t block = item / kFineRows;
  const std::int64_t begin = block * kFineRows;
  const std::int64_t end = std::min(begin + kFineRows, local_items_.size());
  const float* cosines = stripe_.data() + stripe_row * options_.grid.tile().items + begin;
  return is_partial_of(
      partials_[to_size(stripe_row * partial_blocks() + block)], {cosines, to_size(end - begin)},
      !queries_->rows.row(local_rows_.begin + row).empty(), exp_scale(options_.softmax_scale));
}

bool TileWorker::columns_hold(RowRange rows) {
  column_identity_.expect(queries_->rows, rows, queries_->vocabulary.size());
  std::int64_t item = 0;
  const std::int64_t* found = column_sums_.data();
  for (const ItemBlock& block : blocks_) {
    if (item >= local_items_.size()) break;
    const RowRange range{item, item + block.items()};
    if (column_identity_.failures(items_, range, found) != 0) return false;
    item = range.end;
    found += block.padded_items();
  }
  return true;
}

std::int64_t TileWorker::bytes(const CpuBackendOptions& options, std::int64_t labels,
                               std::int64_t tile_nnz) {
  const TileShape& tile = options.grid.tile();
  const BlockLayout layout{items_of_a_block(options), options.dense_share, 1};
  return LabelledRows::bytes(tile.items, tile_nnz) +
         ItemBlock::bytes(tile.items, tile_nnz, labels, layout) +
         KernelScratch::bytes(std::min(tile.items, layout.items), 0) +
         labels * std::int64_t{sizeof(std::uint64_t)} +
         padded_column(tile.items, layout.items) * std::int64_t{sizeof(std::int64_t)} +
         rows_of_a_stripe(tile) *
             (tile.items * std::int64_t{sizeof(float)} +
              FineGrid(options.grid).columns_of_a_tile() * std::int64_t{sizeof(SoftmaxPartial)});
}

}  // namespace bulksim
