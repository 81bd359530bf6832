#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/row_identity.hpp"

namespace bulksim::cuda {

namespace {

__global__ void column_sum_kernel(ItemRows rows, BlockGrid grid, std::int64_t first_entry,
                                  std::int64_t end_entry, std::int64_t first_block,
                                  std::uint32_t labels, Wrapping* sums) {
  for (std::int64_t at = first_entry + first_piece(); at < end_entry; at += piece_stride()) {
    const std::uint32_t label = rows.labels[at];
    if (label == kNoLabel) continue;
    const std::int64_t block = grid.block_of(row_of_entry(rows.offsets, rows.rows, at));
    atomicAdd(sums + (block - first_block) * labels + label,
              static_cast<Wrapping>(static_cast<long long>(rows.values[at])));
  }
}

/// One warp per query row and block.
__global__ void row_check_kernel(QueryRows queries, TileGroup group, const Wrapping* column_sums,
                                 unsigned* mismatches) {
  const std::int64_t places = group.blocks * group.tiles * group.tile_queries;
  for (std::int64_t place = first_piece_of_warp(); place < places; place += warp_stride()) {
    const std::int64_t row_of_tile = place % group.tile_queries;
    const auto tile = static_cast<int>(place / group.tile_queries % group.tiles);
    const std::int64_t block = place / group.tile_queries / group.tiles;
    const std::int64_t row = group.first_row[tile] + row_of_tile;
    Wrapping sum = 0;
    if (row < queries.rows) {
      const std::int64_t end = queries.offsets[row + 1];
      for (std::int64_t at = queries.offsets[row] + lane_of_thread(); at < end; at += kWarp) {
        const int2 entry = __ldg(queries.entries + at);
        const auto label = static_cast<std::uint32_t>(entry.x);
        sum += wrapping_product(entry.y, column_sums[block * queries.labels + label]);
      }
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0 && sum != group.row_sums[place]) atomicAdd(mismatches + tile, 1U);
  }
}

}  // namespace

void launch_column_sums(const ItemRows& rows, const BlockGrid& grid, std::int64_t first_entry,
                        std::int64_t end_entry, std::int64_t first_block, std::int64_t blocks,
                        std::uint32_t labels, unsigned long long* sums, const Stream& stream) {
  clear(sums, blocks * labels, stream);
  if (first_entry == end_entry || labels == 0) return;
  BULKSIM_LAUNCH(column_sum_kernel, blocks_for(end_entry - first_entry), kPieceThreads, 0,
                 stream.get(), rows, grid, first_entry, end_entry, first_block, labels, sums);
  check_launch("the column-sum kernel");
}

void launch_row_check(const QueryRows& queries, const TileGroup& group,
                      const unsigned long long* column_sums, unsigned* mismatches,
                      const Stream& stream) {
  clear(mismatches, group.tiles, stream);
  const std::int64_t places = group.blocks * group.tiles * group.tile_queries;
  if (places == 0) return;
  BULKSIM_LAUNCH(row_check_kernel, blocks_for(places * kWarp), kPieceThreads, 0, stream.get(),
                 queries, group, column_sums, mismatches);
  check_launch("the row-check kernel");
}

}  // namespace bulksim::cuda
