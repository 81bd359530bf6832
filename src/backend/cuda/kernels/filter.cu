#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/filter.hpp"

namespace bulksim::cuda {

namespace {

constexpr int kCountThreads = 256;  // one block adds up the rows of a tile
constexpr int kWarps = kCountThreads / kWarp;

/// One warp per row: marks the cells that pass.
__global__ void mark_cells_kernel(TileGroup group, std::int64_t tile_items, CellFilter filter,
                                  Candidates to) {
  const unsigned lane = lane_of_thread();
  const std::int64_t words = row_words(tile_items);
  const std::int64_t rows = std::int64_t{group.tiles} * group.tile_queries;
  for (std::int64_t index = first_piece_of_warp(); index < rows; index += warp_stride()) {
    const float floor = __ldg(filter.floors + index);
    const float* const values = group.values + index * tile_items;
    unsigned count = 0;
    BULKSIM_UNROLL(4)
    for (std::int64_t word = 0; word < words; ++word) {
      const std::int64_t item = word * kWordCells + lane;
      bool passes = false;
      if (item < filter.items) {
        const float value = __ldcs(values + item);
        passes = value >= floor && value < filter.below && !(filter.leave_zeros && value == 0.0f);
      }
      const unsigned bits = __ballot_sync(kAllLanes, passes);
      if (lane == 0) to.bits[index * words + word] = bits;
      count += __popc(bits);
    }
    if (lane == 0) to.counts[index] = count;
  }
}

/// Sum of the values of the lanes before this one.
__device__ inline unsigned sum_before(unsigned value) {
  unsigned sum = value;
  BULKSIM_UNROLL(5)
  for (int lanes = 1; lanes < kWarp; lanes *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(lanes));
    if (lane_of_thread() >= static_cast<unsigned>(lanes)) sum += other;
  }
  return sum - value;
}

/// One block per tile: computes where the candidates of each row begin.
__global__ void __launch_bounds__(kCountThreads) place_rows_kernel(TileGroup group, Candidates to) {
  BULKSIM_SHARED(unsigned, of_warp, [kWarps]);
  const unsigned warp = threadIdx.x / kWarp;
  const std::int64_t base = std::int64_t{blockIdx.x} * group.tile_queries;
  unsigned before = 0;
  for (int first = 0; first < group.tile_queries; first += kCountThreads) {
    const int row = first + static_cast<int>(threadIdx.x);
    const unsigned mine = row < group.tile_queries ? to.counts[base + row] : 0;
    const unsigned in_warp = sum_before(mine);
    if (lane_of_thread() == kWarp - 1) of_warp[warp] = in_warp + mine;
    __syncthreads();
    unsigned sum = 0;
    unsigned all = 0;
    for (int other = 0; other < kWarps; ++other) {
      if (other < static_cast<int>(warp)) sum += of_warp[other];
      all += of_warp[other];
    }
    if (row < group.tile_queries) to.firsts[base + row] = before + sum + in_warp;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) to.totals[blockIdx.x] = before;
}

/// One warp per row: gathers the marked cells, in order.
__global__ void gather_cells_kernel(TileGroup group, std::int64_t tile_items, Candidates to) {
  const unsigned lane = lane_of_thread();
  const std::int64_t words = row_words(tile_items);
  const std::int64_t rows = std::int64_t{group.tiles} * group.tile_queries;
  for (std::int64_t index = first_piece_of_warp(); index < rows; index += warp_stride()) {
    const std::int64_t tile = index / group.tile_queries;
    if (to.counts[index] == 0 || to.totals[tile] > to.capacity) continue;
    Candidate* row = to.candidates + tile * to.capacity + to.firsts[index];
    for (std::int64_t first = 0; first < words; first += kWarp) {
      const unsigned own = first + lane < words ? to.bits[index * words + first + lane] : 0;
      unsigned filled = __ballot_sync(kAllLanes, own != 0);
      for (; filled != 0; filled &= filled - 1) {
        const int from = __ffs(filled) - 1;
        const unsigned bits = __shfl_sync(kAllLanes, own, from);
        if ((bits >> lane & 1U) != 0) {
          const std::int64_t item = (first + from) * kWordCells + lane;
          row[__popc(bits & ((1U << lane) - 1))] = {static_cast<std::uint32_t>(item),
                                                    group.values[index * tile_items + item]};
        }
        row += __popc(bits);
      }
    }
  }
}

}  // namespace

void launch_filter(const TileGroup& group, std::int64_t tile_items, const CellFilter& filter,
                   const Candidates& to, const Stream& stream) {
  const std::int64_t rows = std::int64_t{group.tiles} * group.tile_queries;
  if (rows == 0) return;
  const unsigned blocks = blocks_for(rows * kWarp);
  BULKSIM_LAUNCH(mark_cells_kernel, blocks, kPieceThreads, 0, stream.get(), group, tile_items,
                 filter, to);
  check_launch("the kernel that marks cells");
  BULKSIM_LAUNCH(place_rows_kernel, group.tiles, kCountThreads, 0, stream.get(), group, to);
  check_launch("the kernel that places rows");
  BULKSIM_LAUNCH(gather_cells_kernel, blocks, kPieceThreads, 0, stream.get(), group, tile_items,
                 to);
  check_launch("the kernel that gathers cells");
}

}  // namespace bulksim::cuda
