#include "backend/cuda/bench/score_bench.hpp"

#include <algorithm>
#include <cmath>

#include "backend/cuda/bench/upload_all.hpp"
#include "backend/cuda/kernels/row_identity.hpp"
#include "backend/rows/tile_checks.hpp"

namespace bulksim::cuda {

namespace {

constexpr TileShape kTile{1024, 4096};

TileGrid grid_of(const QuantizedRows& queries, const QuantizedRows& items) {
  const MatrixShape shape{queries.rows(), items.rows()};
  return {shape, {std::min(kTile.queries, shape.queries), std::min(kTile.items, shape.items)}};
}

std::int64_t blocks_of(const TileGrid& grid) {
  return BlockGrid{0, grid.tile().items}.blocks_per_tile();
}

}  // namespace

ScoreBench::ScoreBench(const Device& device, const QuantizedRows& queries,
                       const QuantizedRows& items, const Stream& stream)
    : query_rows_(queries),
      item_rows_(items),
      stream_(stream),
      grid_(grid_of(queries, items)),
      shape_(LaunchShape::of(device)),
      queries_(queries, grid_.tile().queries, stream),
      values_(kGroupTiles * grid_.tile().cells()),
      row_sums_(kGroupTiles * blocks_of(grid_) * grid_.tile().queries),
      column_sums_(blocks_of(grid_) * queries_.view().labels),
      mismatches_(kGroupTiles),
      ticket_(1) {
  prepare_score_kernels(shape_);
  slot_.send(items, {0, items.rows()}, stream);
  label_columns(queries_.view(), slot_.columns(), slot_.entries(), stream);
  build();
}

void ScoreBench::build() {
  blocks_ = builder_.build(slot_.view(), slot_.entries(), {item_rows_.rows(), grid_.tile().items},
                           queries_.view().labels, stream_);
}

TileGroup ScoreBench::group_of(std::int64_t column, std::int64_t row) const {
  TileGroup group;
  group.tiles = static_cast<int>(std::min<std::int64_t>(kGroupTiles, grid_.rows() - row));
  group.tile_queries = static_cast<int>(grid_.tile().queries);
  for (int k = 0; k < group.tiles; ++k) {
    group.first_row[k] = (row + k) * grid_.tile().queries;
    group.long_rows[k] = queries_.long_rows(row + k);
  }
  group.first_block = column * blocks_of(grid_);
  group.blocks = blocks_of(grid_);
  group.query_scales = queries_.view().scales;
  group.item_scales = slot_.view().scales;
  group.values = values_.data();
  group.row_sums = row_sums_.data();
  return group;
}

void ScoreBench::launch(const TileGroup& group) {
  launch_scores(queries_.view(), blocks_, group, Output::kValues, shape_, ticket_.data(), stream_);
}

void ScoreBench::multiply() {
  for (std::int64_t column = 0; column < grid_.columns(); ++column) {
    for (std::int64_t row = 0; row < grid_.rows(); row += kGroupTiles)
      launch(group_of(column, row));
  }
}

std::int64_t ScoreBench::failed_identities() {
  std::int64_t failed = 0;
  for (std::int64_t column = 0; column < grid_.columns(); ++column) {
    const RowRange items = grid_.items(column);
    launch_column_sums(slot_.view(), blocks_.grid, item_rows_.row_offsets[items.begin],
                       item_rows_.row_offsets[items.end], column * blocks_of(grid_),
                       blocks_of(grid_), queries_.view().labels, column_sums_.data(), stream_);
    for (std::int64_t row = 0; row < grid_.rows(); row += kGroupTiles) {
      const TileGroup group = group_of(column, row);
      launch(group);
      launch_row_check(queries_.view(), group, column_sums_.data(), mismatches_.data(), stream_);
      for (const unsigned rows : download_all(mismatches_.data(), group.tiles, stream_))
        failed += rows;
    }
  }
  return failed;
}

double ScoreBench::largest_error() {
  double largest = 0.0;
  for (std::int64_t column = 0; column < grid_.columns(); ++column) {
    const std::int64_t row = column % grid_.rows();
    TileGroup group = group_of(column, row);
    group.tiles = 1;
    launch(group);
    const auto values = download_all(values_.data(), grid_.tile().cells(), stream_);
    const RowRange queries = grid_.queries(row);
    const RowRange items = grid_.items(column);
    for (const Cell& cell :
         sampled_cells(grid_.number({row, column}), queries.size(), items.size())) {
      const float got = values[cell.row * grid_.tile().items + cell.item];
      const float want =
          exact_score(query_rows_, queries.begin + cell.row, item_rows_, items.begin + cell.item);
      largest = std::max(largest, std::abs(static_cast<double>(got) - static_cast<double>(want)));
    }
  }
  return largest;
}

}  // namespace bulksim::cuda
