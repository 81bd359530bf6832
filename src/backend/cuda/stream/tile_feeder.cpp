#include "backend/cuda/stream/tile_feeder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cuda/kernels/row_identity.hpp"
#include "core/text/format_text.hpp"

namespace bulksim::cuda {

namespace {

/// Share of the device memory that is free at the start; the rest is for other processes and
/// fragmentation.
constexpr double kShareOfMemory = 0.7;

bool is_out_of_memory(const CallError& error) {
  return error.code() == ExitCode::kMemory;
}

}  // namespace

TileFeeder::TileFeeder(const CudaBackendOptions& options, const Device& device,
                       const QueryBatch& batch, const PairFilter* filter)
    : options_(options),
      device_(device),
      batch_(batch),
      filter_(filter),
      shape_(LaunchShape::of(device)) {
  const std::int64_t free_at_start = device.free_bytes();
  const auto usable =
      static_cast<std::int64_t>(kShareOfMemory * static_cast<double>(free_at_start));
  const TileShape& tile = options.grid.tile();
  prepare_score_kernels(shape_);
  queries_.emplace(batch.rows, tile.queries, upload_);
  ticket_.reserve(1);
  slice_columns_ = std::max<std::int64_t>(1, options.slice_items / tile.items);
  const std::int64_t rows_of_tiles = divide_up(batch.rows->rows(), tile.queries);
  group_tiles_ = static_cast<int>(std::clamp<std::int64_t>(rows_of_tiles, 1, kGroupTiles));
  while (group_tiles_ > 1 && result_bytes() > usable / 2)
    group_tiles_ /= 2;
  reserve_results();
  budget_ = usable;
}

/// Bytes of two groups.
std::int64_t TileFeeder::result_bytes() const {
  return 2 * tile_memory(options_, group_tiles_, filter_ != nullptr);
}

SliceSize TileFeeder::size_of(const Slice& slice) const {
  return SliceSize{slice.items.size(), slice.entries, queries_->view().labels}.with_reserve();
}

/// Including everything else on the device.
DeviceMemory TileFeeder::memory_with(const Slice& slice) const {
  const QueryRows& queries = queries_->view();
  const SliceSize size = size_of(slice);
  const std::int64_t scratch =
      BlockBuilder::scratch_bytes(grid_of(slice), size.entries, queries.labels);
  return {query_memory(queries.rows, batch_.rows->nnz(), queries.labels), 2 * item_row_memory(size),
          item_block_memory(options_.grid.tile(), size, scratch), result_bytes()};
}

void TileFeeder::reserve_results() {
  const TileShape& tile = options_.grid.tile();
  for (;; group_tiles_ /= 2) {
    try {
      for (Results& results : results_) {
        results.values.reserve(group_tiles_ * tile_values(options_));
        results.partials.reserve(group_tiles_ * tile_partials(options_));
        results.row_sums.reserve(group_tiles_ * blocks_per_tile() * tile.queries);
        results.mismatches.reserve(group_tiles_);
        if (filter_ != nullptr) results.filter.reserve(group_tiles_, tile);
      }
      return;
    } catch (const CallError& error) {
      clear_results();
      if (!is_out_of_memory(error)) throw;
      if (group_tiles_ > 1) continue;
      throw Error(ExitCode::kMemory,
                  "the device " + device_.description() + " has " +
                      std::to_string(device_.free_bytes()) + " bytes free, but two tiles of " +
                      std::to_string(tile.queries) + " x " + std::to_string(tile.items) + " need " +
                      std::to_string(result_bytes()) + " (choose a smaller --tile)");
    }
  }
}

void TileFeeder::clear_results() {
  for (Results& results : results_) {
    results.values.clear();
    results.partials.clear();
    results.row_sums.clear();
    results.mismatches.clear();
    results.filter.clear();
  }
}

TileFeeder::Slice TileFeeder::slice_of(const ItemChunk& chunk, std::span<const TileId> tiles,
                                       std::int64_t columns) const {
  const std::int64_t first = tiles.front().column;
  std::int64_t last = first;
  std::size_t count = 0;
  for (; count < tiles.size(); ++count) {
    const std::int64_t column = tiles[count].column;
    if (column > last + 1 || column - first >= columns) break;
    last = column;
  }
  const RowRange items{options_.grid.items(first).begin - chunk.range.begin,
                       options_.grid.items(last).end - chunk.range.begin};
  const std::int64_t entries =
      chunk.rows->row_offsets[items.end] - chunk.rows->row_offsets[items.begin];
  return {items, first, last - first + 1, entries, tiles.first(count)};
}

/// The longest slice that fits, with its memory.
TileFeeder::Slice TileFeeder::next_slice(const ItemChunk& chunk, std::span<const TileId> tiles) {
  std::int64_t columns = slice_columns_;
  for (;;) {
    Slice slice = slice_of(chunk, tiles, columns);
    if (slice.columns > 1 && memory_with(slice).total() > budget_) {
      columns = slice.columns / 2;
      continue;
    }
    try {
      reserve(slice);
      return slice;
    } catch (const CallError& error) {
      if (!is_out_of_memory(error)) throw;
      give_way(slice);
      columns = slice_columns_;
    }
  }
}

void TileFeeder::reserve(const Slice& slice) {
  const std::uint32_t labels = queries_->view().labels;
  const SliceSize size = size_of(slice);
  slots_[next_slot_].reserve(size.items, size.entries);
  builder_.reserve(grid_of(slice), size.entries, labels);
  column_sums_.reserve(blocks_per_tile() * labels);
}

/// Reduces the memory of later slices; throws if it cannot be reduced further.
void TileFeeder::give_way(const Slice& slice) {
  for (ItemSlot& slot : slots_)
    slot.clear();
  builder_.clear();
  column_sums_.clear();
  if (slice.columns > 1) {
    slice_columns_ = slice.columns / 2;
  } else if (group_tiles_ > 1) {
    clear_results();
    group_tiles_ /= 2;
    reserve_results();
  } else {
    throw out_of_memory(slice);
  }
}

Error TileFeeder::out_of_memory(const Slice& slice) const {
  const DeviceMemory memory = memory_with(slice);
  return {ExitCode::kMemory,
          "the device " + device_.description() + " has " + bytes_text(device_.free_bytes()) +
              " free, but one column of tiles needs " + bytes_text(memory.total()) + " = " +
              memory.text() + " (choose a smaller --tile, or a device with more memory)"};
}

void TileFeeder::run(const TileBatch& batch, TileRing& ring, const Deliver& deliver) {
  std::span<const TileId> tiles(batch.tiles);
  while (!tiles.empty()) {
    const Slice slice = next_slice(*batch.chunk, tiles);
    if (!run_slice(batch, slice, ring, deliver)) return;
    tiles = tiles.subspan(slice.tiles.size());
  }
}

bool TileFeeder::run_slice(const TileBatch& batch, const Slice& slice, TileRing& ring,
                           const Deliver& deliver) {
  ItemSlot& slot = slots_[next_slot_];
  next_slot_ = 1 - next_slot_;
  slot.send(batch.chunk->rows, slice.items, upload_);
  slot.receive(compute_);
  label_columns(queries_->view(), slot.columns(), slot.entries(), compute_);
  const ItemBlocks blocks = builder_.build(slot.view(), slot.entries(), grid_of(slice),
                                           queries_->view().labels, compute_);
  std::optional<Group> before;  // downloaded while the next group is computed
  for (auto left = slice.tiles; !left.empty();) {
    const auto some = same_column(left, group_tiles_);
    const bool new_column = !before || before->tiles.front().column != some.front().column;
    if (new_column) sum_columns(slice, *batch.chunk, slot, some.front().column);
    const Group group = launch(slice, slot, blocks, some);
    if (before && !send_down(batch, *before, ring, deliver)) return false;
    before = group;
    left = left.subspan(some.size());
  }
  slot.finish(compute_);
  return send_down(batch, *before, ring, deliver);
}

/// The reference sides of the row identities of a column of tiles.
void TileFeeder::sum_columns(const Slice& slice, const ItemChunk& chunk, const ItemSlot& slot,
                             std::int64_t column) {
  const auto entry = [&](std::int64_t row) {
    const std::size_t at = row - chunk.range.begin;
    const std::size_t first = slice.items.begin;
    return chunk.rows->row_offsets[at] - chunk.rows->row_offsets[first];
  };
  const RowRange items = options_.grid.items(column);
  launch_column_sums(slot.view(), grid_of(slice), entry(items.begin), entry(items.end),
                     (column - slice.first_column) * blocks_per_tile(), blocks_per_tile(),
                     queries_->view().labels, column_sums_.data(), compute_);
}

TileFeeder::Group TileFeeder::launch(const Slice& slice, const ItemSlot& slot,
                                     const ItemBlocks& blocks, std::span<const TileId> tiles) {
  Results& results = results_[next_results_];
  next_results_ = 1 - next_results_;
  results.downloaded.hold(compute_);
  TileGroup group;
  group.tiles = static_cast<int>(tiles.size());
  group.tile_queries = static_cast<int>(options_.grid.tile().queries);
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    group.first_row[k] = options_.grid.queries(tiles[k].row).begin - batch_.range.begin;
    group.long_rows[k] = queries_->long_rows(group.first_row[k] / group.tile_queries);
  }
  group.first_block = (tiles.front().column - slice.first_column) * blocks_per_tile();
  group.blocks = blocks_per_tile();
  group.query_scales = queries_->view().scales;
  group.item_scales = slot.view().scales;
  group.exp_scale = exp_scale(options_.softmax_scale);
  group.values = results.values.data();
  group.row_sums = results.row_sums.data();
  group.partials = results.partials.data();
  launch_scores(queries_->view(), blocks, group, output_of(options_), shape_, ticket_.data(),
                compute_);
  launch_row_check(queries_->view(), group, column_sums_.data(), results.mismatches.data(),
                   compute_);
  if (filter_ != nullptr) {
    results.filter.launch(group, options_.grid, options_.grid.items(tiles.front().column).size(),
                          batch_.rows->rows(), *filter_, compute_);
  }
  results.computed.record(compute_);
  return {tiles, &results};
}

bool TileFeeder::send_down(const TileBatch& batch, const Group& group, TileRing& ring,
                           const Deliver& deliver) {
  const std::int64_t cells = tile_values(options_);
  const std::int64_t partials = tile_partials(options_);
  group.results->computed.hold(download_);
  for (std::size_t k = 0; k < group.tiles.size(); ++k) {
    const auto pinned = ring.take();
    if (!pinned) return false;
    PinnedTile& tile = **pinned;
    const std::int64_t at = k;
    std::optional<std::int64_t> candidates;
    if (filter_ != nullptr) candidates = group.results->filter.candidates(static_cast<int>(k));
    if (candidates) {
      tile.make_room_for_candidates(options_.grid.tile());
      group.results->filter.send_down(static_cast<int>(k), *candidates, tile, download_);
    } else {
      download(group.results->values.data() + at * cells, tile.values, cells, download_);
    }
    download(group.results->partials.data() + at * partials, tile.partials, partials, download_);
    download(group.results->mismatches.data() + at, tile.mismatches, 1, download_);
    tile.arrived.record(download_);
    if (!deliver({{batch.number, batch.chunk, group.tiles.subspan(k, 1)}, &tile, candidates}))
      return false;
  }
  group.results->downloaded.record(download_);
  return true;
}

}  // namespace bulksim::cuda
