#include <algorithm>

#include "backend/cuda/kernels/add_products.cuh"
#include "backend/cuda/kernels/finish_row.cuh"
#include "backend/cuda/kernels/panel.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

namespace {

constexpr int kTasksAtOnce = 4;  // one atomic for this many tasks; neighbours share a block

/// One warp per task, from the longest query row of a tile to the shortest, block after block, so
/// that all multiprocessors share an item block in L2 and finish at about the same time.
template <Output kOutput>
__global__ void __launch_bounds__(kMostWarps* kWarp, 1)
    score_kernel(QueryRows queries, ItemBlocks items, TileGroup group, Wrapping* ticket) {
  BULKSIM_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const own = shared + threadIdx.x / kWarp * kWarpSharedBytes;
  const WarpTeam team{reinterpret_cast<longlong2*>(own)};
  auto* const works = reinterpret_cast<Work*>(own + kBlockItems * sizeof(long long));
  const unsigned lane = lane_of_thread();
  for (int pair = lane; pair < kPairs; pair += kWarp)
    team.take(pair);
  __syncwarp();
  const Wrapping tasks = static_cast<Wrapping>(group.blocks) * static_cast<Wrapping>(group.tiles) *
                         static_cast<Wrapping>(group.tile_queries);
  for (;;) {
    Wrapping number = 0;
    if (lane == 0) number = atomicAdd(ticket, static_cast<Wrapping>(kTasksAtOnce));
    number = __shfl_sync(kAllLanes, number, 0);
    if (number >= tasks) break;
    const Wrapping end = number + kTasksAtOnce < tasks ? number + kTasksAtOnce : tasks;
    for (; number < end; ++number) {
      const auto rows = static_cast<Wrapping>(group.tile_queries);
      const auto tiles = static_cast<Wrapping>(group.tiles);
      if (static_cast<int>(number % rows) < group.long_rows[number / rows % tiles]) continue;
      const Task task = make_task(queries, group, number);
      add_products(queries, items, group.first_block + task.block, task.begin, task.end, 1,
                   reinterpret_cast<long long*>(own), works);
      finish_row<kOutput>(team, items.grid, group, task);
      __syncwarp();
    }
  }
}

/// One block per task: its warps share the entries of a long row and add their sums at the end.
/// Block x: item block; y: tile; z: index of the long row in the tile.
template <Output kOutput>
__global__ void __launch_bounds__(kMostLongRowWarps* kWarp, 3)
    long_row_kernel(QueryRows queries, ItemBlocks items, TileGroup group, int first_row) {
  const int place = first_row + static_cast<int>(blockIdx.z);
  if (place >= group.long_rows[blockIdx.y]) return;
  BULKSIM_DYNAMIC_SHARED(unsigned char, shared);
  BULKSIM_SHARED(Wrapping, exchange, [kMostLongRowWarps]);
  const unsigned warp = threadIdx.x / kWarp;
  unsigned char* const own = shared + warp * kWarpSharedBytes;
  auto* const sums = reinterpret_cast<long long*>(own);
  auto* const works = reinterpret_cast<Work*>(own + kBlockItems * sizeof(long long));
  for (int i = lane_of_thread(); i < kBlockItems; i += kWarp)
    sums[i] = 0;
  __syncwarp();
  const Wrapping number = (static_cast<Wrapping>(blockIdx.x) * gridDim.y + blockIdx.y) *
                              static_cast<Wrapping>(group.tile_queries) +
                          static_cast<Wrapping>(place);
  const Task task = make_task(queries, group, number);
  add_products(queries, items, group.first_block + task.block, task.begin + warp * kWarp, task.end,
               blockDim.x / kWarp, sums, works);
  __syncthreads();
  const BlockTeam team{reinterpret_cast<longlong2*>(shared), kWarpSharedBytes / 16, exchange};
  finish_row<kOutput>(team, items.grid, group, task);
}

/// One warp per row and block: finishes sums in device memory.
template <Output kOutput>
__global__ void finish_kernel(QueryRows queries, BlockGrid grid, TileGroup group, longlong2* sums) {
  const std::int64_t places = group.blocks * group.tile_queries;
  for (std::int64_t place = first_piece_of_warp(); place < places; place += warp_stride()) {
    const Task task = make_task(queries, group, static_cast<Wrapping>(place));
    const WarpTeam team{sums + (task.row * group.blocks + task.block) * kPairs};
    finish_row<kOutput>(team, grid, group, task);
  }
}

template <Output kOutput>
void launch(const QueryRows& queries, const ItemBlocks& items, const TileGroup& group,
            const LaunchShape& shape, Wrapping* ticket, const Stream& stream) {
  constexpr int kMostGridZ = 65535;
  const int longest = *std::max_element(group.long_rows, group.long_rows + group.tiles);
  for (int row = 0; row < longest; row += kMostGridZ) {
    const dim3 grid(static_cast<unsigned>(group.blocks), group.tiles,
                    static_cast<unsigned>(std::min(longest - row, kMostGridZ)));
    const unsigned warps = shape.long_row_warps;
    BULKSIM_LAUNCH(long_row_kernel<kOutput>, grid, warps * kWarp, warps * kWarpSharedBytes,
                   stream.get(), queries, items, group, row);
    check_launch("the long-row kernel");
  }
  clear(ticket, 1, stream);
  const unsigned warps = shape.warps;
  BULKSIM_LAUNCH(score_kernel<kOutput>, shape.blocks, warps * kWarp, warps * kWarpSharedBytes,
                 stream.get(), queries, items, group, ticket);
  check_launch("the score kernel");
}

template <Output kOutput>
void prepare(const LaunchShape& shape) {
  const auto allow = [](const void* kernel, int warps) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               warps * static_cast<int>(kWarpSharedBytes)),
          "give a kernel its shared memory");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared),
          "prefer shared memory over cache");
  };
  allow(reinterpret_cast<const void*>(score_kernel<kOutput>), shape.warps);
  allow(reinterpret_cast<const void*>(long_row_kernel<kOutput>), shape.long_row_warps);
}

}  // namespace

LaunchShape LaunchShape::of(const Device& device) {
  const auto fits = static_cast<int>(device.shared_per_block() / kWarpSharedBytes);
  if (fits < 1) {
    throw Error(ExitCode::kUnavailable, "the device " + device.description() + " has only " +
                                            std::to_string(device.shared_per_block()) +
                                            " bytes of shared memory per block (at least " +
                                            std::to_string(kWarpSharedBytes) + " are needed)");
  }
  // the long-row kernel also has a little static shared memory
  const auto beside = static_cast<int>((device.shared_per_block() - 1024) / kWarpSharedBytes);
  return {device.multiprocessors(), std::min(fits, kMostWarps),
          std::clamp(beside, 1, kMostLongRowWarps)};
}

void prepare_score_kernels(const LaunchShape& shape) {
  prepare<Output::kValues>(shape);
  prepare<Output::kPartials>(shape);
  prepare<Output::kBoth>(shape);
}

void launch_scores(const QueryRows& queries, const ItemBlocks& items, const TileGroup& group,
                   Output output, const LaunchShape& shape, unsigned long long* ticket,
                   const Stream& stream) {
  if (group.tiles == 0 || group.blocks == 0) return;
  switch (output) {
    case Output::kValues:
      return launch<Output::kValues>(queries, items, group, shape, ticket, stream);
    case Output::kPartials:
      return launch<Output::kPartials>(queries, items, group, shape, ticket, stream);
    case Output::kBoth:
      return launch<Output::kBoth>(queries, items, group, shape, ticket, stream);
  }
}

void launch_finish(const QueryRows& queries, const BlockGrid& grid, const TileGroup& group,
                   Output output, long long* sums, const Stream& stream) {
  const std::int64_t places = group.blocks * group.tile_queries;
  if (places == 0) return;
  auto* const kernel = output == Output::kValues     ? finish_kernel<Output::kValues>
                       : output == Output::kPartials ? finish_kernel<Output::kPartials>
                                                     : finish_kernel<Output::kBoth>;
  BULKSIM_LAUNCH(kernel, blocks_for(places * kWarp), kPieceThreads, 0, stream.get(), queries, grid,
                 group, reinterpret_cast<longlong2*>(sums));
  check_launch("the finish kernel");
}

}  // namespace bulksim::cuda
