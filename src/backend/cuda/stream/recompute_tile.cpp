#include "backend/cuda/stream/recompute_tile.hpp"

#include <algorithm>

#include "backend/cuda/kernels/block_builder.hpp"
#include "backend/cuda/kernels/row_identity.hpp"
#include "backend/cuda/stream/item_slice.hpp"
#include "backend/cuda/stream/query_panel.hpp"

namespace bulksim::cuda {

namespace {

using Wrapping = unsigned long long;

/// Exact sums of the query rows `rows` of a tile with all its items, panel by panel.
void multiply_panels(const QueryBatch& batch, RowRange rows, const DeviceQueries& queries,
                     const ItemRows& items, const BlockGrid& grid,
                     const DeviceBuffer<long long>& sums, const Stream& stream) {
  clear(sums.data(), sums.size(), stream);
  for (std::int64_t first = rows.begin; first < rows.end; first += kPanelQueries) {
    const RowRange some{first, std::min(first + kPanelQueries, rows.end)};
    const QueryPanel panel(batch.rows, some, queries.vocabulary(), stream);
    launch_panel(panel.view(first - rows.begin), items, grid, 0, grid.items, sums.data(), stream);
    stream.wait();  // before the panel is freed
  }
}

}  // namespace

void RecomputeTile::compute(const ItemChunk& chunk, TileId tile, PinnedTile& to) {
  const std::lock_guard lock(mutex_);
  const TileShape& shape = options_.grid.tile();
  const RowRange items = options_.grid.items(tile.column);
  const RowRange queries = options_.grid.queries(tile.row);
  const RowRange rows{queries.begin - batch_.range.begin, queries.end - batch_.range.begin};
  const BlockGrid grid{items.size(), shape.items};
  const std::int64_t blocks = grid.blocks_per_tile();
  const std::uint32_t labels = queries_.view().labels;

  const Stream stream;
  const DeviceBuffer<long long> sums(shape.queries * blocks * kBlockItems);
  const DeviceBuffer<float> values(tile_values(options_));
  const DeviceBuffer<SoftmaxPartial> partials(tile_partials(options_));
  const DeviceBuffer<Wrapping> row_sums(blocks * shape.queries);
  const DeviceBuffer<Wrapping> column_sums(blocks * labels);
  const DeviceBuffer<unsigned> mismatches(1);
  ItemSlot slot;
  slot.send(chunk.rows, {items.begin - chunk.range.begin, items.end - chunk.range.begin}, stream);
  label_columns(queries_.view(), slot.columns(), slot.entries(), stream);
  multiply_panels(batch_, rows, queries_, slot.view(), grid, sums, stream);

  TileGroup group;
  group.tiles = 1;
  group.tile_queries = static_cast<int>(shape.queries);
  group.first_row[0] = rows.begin;
  group.blocks = blocks;
  group.query_scales = queries_.view().scales;
  group.item_scales = slot.view().scales;
  group.exp_scale = exp_scale(options_.softmax_scale);
  group.values = values.data();
  group.partials = partials.data();
  group.row_sums = row_sums.data();
  launch_finish(queries_.view(), grid, group, output_of(options_), sums.data(), stream);
  launch_column_sums(slot.view(), grid, 0, slot.entries(), 0, blocks, labels, column_sums.data(),
                     stream);
  launch_row_check(queries_.view(), group, column_sums.data(), mismatches.data(), stream);
  download(values.data(), to.values, values.size(), stream);
  download(partials.data(), to.partials, partials.size(), stream);
  download(mismatches.data(), to.mismatches, 1, stream);
  stream.wait();
}

}  // namespace bulksim::cuda
