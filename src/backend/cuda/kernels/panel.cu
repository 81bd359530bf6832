#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/panel.hpp"

namespace bulksim::cuda {

namespace {

/// One warp per item row; each lane owns four queries.
__global__ void __launch_bounds__(kPieceThreads)
    panel_kernel(Panel panel, ItemRows rows, BlockGrid grid, std::int64_t first_item,
                 std::int64_t end_item, long long* sums) {
  const unsigned lane = lane_of_thread();
  const std::int64_t blocks = grid.blocks_per_tile();
  for (std::int64_t item = first_item + first_piece_of_warp(); item < end_item;
       item += warp_stride()) {
    long long sum[4] = {};
    const std::int64_t end = rows.offsets[item + 1];
    for (std::int64_t run = rows.offsets[item]; run < end; run += kWarp) {
      unsigned rank = kNotThere;
      int value = 0;
      if (run + lane < end && rows.labels[run + lane] != kNoLabel) {
        rank = rank_of(panel.look, rows.labels[run + lane]);
        value = rows.values[run + lane];
      }
      for (unsigned found = __ballot_sync(kAllLanes, rank != kNotThere); found != 0;
           found &= found - 1) {
        const int from = __ffs(found) - 1;
        const std::int64_t row = __shfl_sync(kAllLanes, rank, from);
        const int weight = __shfl_sync(kAllLanes, value, from);
        const int4 queries = __ldg(panel.rows + row * kWarp + lane);
        sum[0] = multiply_add(weight, queries.x, sum[0]);
        sum[1] = multiply_add(weight, queries.y, sum[1]);
        sum[2] = multiply_add(weight, queries.z, sum[2]);
        sum[3] = multiply_add(weight, queries.w, sum[3]);
      }
    }
    const std::int64_t block = grid.block_of(item) % blocks;
    BULKSIM_UNROLL(4)
    for (int c = 0; c < 4; ++c) {
      const int query = lane * 4 + c;
      if (query >= panel.queries) continue;
      sums[((panel.first_row + query) * blocks + block) * kBlockItems + grid.place_in_block(item)] =
          sum[c];
    }
  }
}

}  // namespace

void launch_panel(const Panel& panel, const ItemRows& rows, const BlockGrid& grid,
                  std::int64_t first_item, std::int64_t end_item, long long* sums,
                  const Stream& stream) {
  if (panel.queries == 0 || first_item == end_item) return;
  BULKSIM_LAUNCH(panel_kernel, blocks_for((end_item - first_item) * kWarp), kPieceThreads, 0,
                 stream.get(), panel, rows, grid, first_item, end_item, sums);
  check_launch("the panel kernel");
}

}  // namespace bulksim::cuda
