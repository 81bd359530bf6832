#include <algorithm>
#include <climits>

#include "backend/cuda/device_functions.cuh"
#include "backend/cuda/panel.hpp"
#include "backend/cuda/scores.hpp"
#include "bulksim/sparse/grid.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

namespace {

constexpr int kTasksAtOnce = 4;  // one atomic for so many tasks; neighbours share a block
constexpr int kPairs = kBlockItems / 2;

/// One query row times one item block.
struct Task {
  std::int64_t block;  // of the column of tiles
  int tile;
  int row;  // of the tile
  std::int64_t begin;
  std::int64_t end;  // entries of the query row; none for padding
};

/// One posting list that is to be added, times a weight. 16 bytes: one broadcast from shared
/// memory.
struct alignas(16) Work {
  unsigned first;
  unsigned length;
  int weight;
  int unused;
};

__device__ Task make_task(const QueryRows& queries, const TileGroup& group, Wrapping number) {
  Task task{};
  const auto rows = static_cast<Wrapping>(group.tile_queries);
  const auto tiles = static_cast<Wrapping>(group.tiles);
  const auto place = static_cast<int>(number % rows);
  task.tile = static_cast<int>(number / rows % tiles);
  task.block = static_cast<std::int64_t>(number / rows / tiles);
  task.row = place;
  const std::int64_t first = group.first_row[task.tile];
  if (first + place < queries.rows) {
    const std::int64_t row = __ldg(queries.order + first + place);
    task.row = static_cast<int>(row - first);
    task.begin = __ldg(queries.offsets + row);
    task.end = __ldg(queries.offsets + row + 1);
  }
  return task;
}

/// Adds a posting list to the sums. The items of a list are distinct, so lanes never meet.
__device__ inline void add_list(const int2* postings, const Work& work, int2 early, unsigned lane,
                                long long* sums) {
  if (lane < work.length) sums[early.y] = multiply_add(work.weight, early.x, sums[early.y]);
  BULKSIM_UNROLL(4)
  for (unsigned i = lane + kWarp; i < work.length; i += kWarp) {
    const int2 posting = __ldg(postings + work.first + i);
    sums[posting.y] = multiply_add(work.weight, posting.x, sums[posting.y]);
  }
}

/// Adds up the products of every `stride`-th run of 32 entries of a query row with an item block.
///
/// The lanes look 32 columns up at once and leave the lists found in `works`; then the warp takes
/// one list after the other, and loads the start of the next before it adds the one at hand.
__device__ void add_products(const QueryRows& queries, const ItemBlocks& items, std::int64_t block,
                             std::int64_t begin, std::int64_t end, std::int64_t stride,
                             long long* sums, Work* works) {
  const unsigned lane = lane_of_thread();
  const std::int64_t base = __ldg(items.first + block);
  const uint2* const look = items.look + block * items.words;
  const uint2* const lists = items.lists + base;
  const int2* const postings = items.postings + base;
  for (std::int64_t run = begin; run < end; run += stride * kWarp) {
    Work work{};
    if (run + lane < end) {
      const int2 entry = __ldg(queries.entries + run + lane);
      const unsigned rank = rank_of(look, static_cast<std::uint32_t>(entry.x));
      if (rank != kNotThere) {
        const uint2 list = __ldg(lists + rank);
        work = {list.x, list.y, entry.y, 0};
      }
    }
    const unsigned found = __ballot_sync(kAllLanes, work.length != 0);
    if (work.length != 0) works[__popc(found & ((1U << lane) - 1))] = work;
    __syncwarp();
    const int count = __popc(found);
    int2 next = make_int2(0, 0);
    if (count > 0 && lane < works[0].length) next = __ldg(postings + works[0].first + lane);
    for (int k = 0; k < count; ++k) {
      const Work now = works[k];
      const int2 early = next;
      if (k + 1 < count && lane < works[k + 1].length) {
        next = __ldg(postings + works[k + 1].first + lane);
      }
      add_list(postings, now, early, lane, sums);
      __syncwarp();
    }
  }
}

/// The lanes of one warp that finish a row of their own.
struct WarpTeam {
  longlong2* sums;

  __device__ int index() const { return static_cast<int>(lane_of_thread()); }
  __device__ int size() const { return kWarp; }
  __device__ longlong2 take(int pair) const {
    const longlong2 value = sums[pair];
    sums[pair] = make_longlong2(0, 0);
    return value;
  }
  __device__ longlong2 see(int pair) const { return sums[pair]; }
  __device__ Wrapping sum(Wrapping value) const { return warp_sum(value); }
  __device__ long long largest(long long value) const { return warp_largest(value); }
};

/// The threads of a block that finish a row together; each warp has sums of its own.
struct BlockTeam {
  longlong2* sums;
  std::int64_t stride;  // from the sums of one warp to those of the next
  Wrapping* exchange;   // one place a warp

  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int warps() const { return size() / kWarp; }
  __device__ longlong2 see(int pair) const {
    longlong2 value = make_longlong2(0, 0);
    for (int warp = 0; warp < warps(); ++warp) {
      value.x += sums[warp * stride + pair].x;
      value.y += sums[warp * stride + pair].y;
    }
    return value;
  }
  __device__ longlong2 take(int pair) const { return see(pair); }  // the block ends afterwards
  __device__ Wrapping sum(Wrapping value) const {
    share(warp_sum(value));
    Wrapping all = 0;
    for (int warp = 0; warp < warps(); ++warp)
      all += exchange[warp];
    __syncthreads();
    return all;
  }
  __device__ long long largest(long long value) const {
    share(static_cast<Wrapping>(warp_largest(value)));
    long long all = LLONG_MIN;
    for (int warp = 0; warp < warps(); ++warp) {
      const auto other = static_cast<long long>(exchange[warp]);
      all = other > all ? other : all;
    }
    __syncthreads();
    return all;
  }
  __device__ void share(Wrapping value) const {
    if (lane_of_thread() == 0) exchange[threadIdx.x / kWarp] = value;
    __syncthreads();
  }
};

template <Output kOutput, Output kPart>
constexpr bool kHas = (static_cast<int>(kOutput) & static_cast<int>(kPart)) != 0;

/// Largest sum of the items that exist.
template <class Team>
__device__ long long largest_sum(const Team& team, int valid) {
  long long largest = LLONG_MIN;
  for (int pair = team.index(); 2 * pair < valid; pair += team.size()) {
    const longlong2 sum = team.see(pair);
    largest = sum.x > largest ? sum.x : largest;
    if (2 * pair + 1 < valid && sum.y > largest) largest = sum.y;
  }
  return team.largest(largest);
}

__device__ inline void store_pair(float* row, int pair, int width, bool even, longlong2 sum,
                                  float inverse_one) {
  const float first = to_cosine(sum.x, inverse_one);
  const float second = to_cosine(sum.y, inverse_one);
  if (even) {
    __stcs(reinterpret_cast<float2*>(row) + pair, make_float2(first, second));
  } else {
    __stcs(row + 2 * pair, first);
    if (2 * pair + 1 < width) __stcs(row + 2 * pair + 1, second);
  }
}

/// Turns the sums of a row into cosines and terms, two neighbours a thread, and clears them.
template <Output kOutput, class Team>
__device__ void finish_row(const Team& team, const BlockGrid& grid, const TileGroup& group,
                           const Task& task) {
  const int width = grid.width(group.first_block + task.block);
  const int valid = grid.valid(group.first_block + task.block);
  const bool even = grid.tile_items % 2 == 0;  // rows of an odd tile are not aligned for pairs
  const long long largest = kHas<kOutput, Output::kTerms> ? largest_sum(team, valid) : 0;
  float* const row =
      group.values +
      (static_cast<std::int64_t>(task.tile) * group.tile_queries + task.row) * grid.tile_items +
      task.block * kBlockItems;
  Wrapping row_sum = 0;
  Wrapping exp_sum = 0;
  BULKSIM_UNROLL(4)
  for (int pair = team.index(); 2 * pair < width; pair += team.size()) {
    const longlong2 sum = team.take(pair);
    row_sum += static_cast<Wrapping>(sum.x) + static_cast<Wrapping>(sum.y);
    if (kHas<kOutput, Output::kValues>) store_pair(row, pair, width, even, sum, group.inverse_one);
    if (kHas<kOutput, Output::kTerms>) {
      if (2 * pair < valid) {
        exp_sum += static_cast<Wrapping>(exp_term(sum.x - largest, group.exp_scale));
      }
      if (2 * pair + 1 < valid) {
        exp_sum += static_cast<Wrapping>(exp_term(sum.y - largest, group.exp_scale));
      }
    }
  }
  row_sum = team.sum(row_sum);
  if (kHas<kOutput, Output::kTerms>) exp_sum = team.sum(exp_sum);
  if (team.index() != 0) return;
  const std::int64_t place = group.place(task.block, task.tile, task.row);
  group.row_sums[place] = row_sum;
  if (kHas<kOutput, Output::kTerms>) {
    group.largest[place] = largest;
    group.exp_sums[place] = static_cast<long long>(exp_sum);
  }
}

/// One warp a task, from the longest query row of a tile to the shortest, block after block, so
/// that all multiprocessors share an item block in L2 and none ends late.
template <Output kOutput>
__global__ void __launch_bounds__(kMostWarps* kWarp, 1)
    score_kernel(QueryRows queries, ItemBlocks items, TileGroup group, Wrapping* ticket) {
  BULKSIM_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const own = shared + threadIdx.x / kWarp * kWarpSharedBytes;
  const WarpTeam team{reinterpret_cast<longlong2*>(own)};
  auto* const works = reinterpret_cast<Work*>(own + kBlockItems * sizeof(long long));
  const unsigned lane = lane_of_thread();
  for (int pair = static_cast<int>(lane); pair < kPairs; pair += kWarp)
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

/// One block a task: its warps share the entries of a long row and add their sums in the end.
/// Block x: item block; y: tile; z: how-many-eth long row of the tile.
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
  for (int i = static_cast<int>(lane_of_thread()); i < kBlockItems; i += kWarp)
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

/// One warp a row and block: finishes sums that lie in device memory.
template <Output kOutput>
__global__ void finish_kernel(QueryRows queries, BlockGrid grid, TileGroup group, longlong2* sums) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * blockDim.x / kWarp;
  const std::int64_t places = group.blocks * group.tile_queries;
  for (std::int64_t place =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
       place < places; place += warps) {
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
    const dim3 grid(static_cast<unsigned>(group.blocks), static_cast<unsigned>(group.tiles),
                    static_cast<unsigned>(std::min(longest - row, kMostGridZ)));
    const auto warps = static_cast<unsigned>(shape.long_row_warps);
    BULKSIM_LAUNCH(long_row_kernel<kOutput>, grid, warps * kWarp, warps * kWarpSharedBytes,
                   stream.get(), queries, items, group, row);
    check_launch("the long-row kernel");
  }
  clear(ticket, 1, stream);
  const auto warps = static_cast<unsigned>(shape.warps);
  BULKSIM_LAUNCH(score_kernel<kOutput>, static_cast<unsigned>(shape.blocks), warps * kWarp,
                 warps * kWarpSharedBytes, stream.get(), queries, items, group, ticket);
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
                                            " bytes of shared memory a block (at least " +
                                            std::to_string(kWarpSharedBytes) + " are needed)");
  }
  // the long-row kernel has a little static shared memory beside
  const auto beside = static_cast<int>((device.shared_per_block() - 1024) / kWarpSharedBytes);
  return {device.multiprocessors(), std::min(fits, kMostWarps),
          std::clamp(beside, 1, kMostLongRowWarps)};
}

void prepare_score_kernels(const LaunchShape& shape) {
  prepare<Output::kValues>(shape);
  prepare<Output::kTerms>(shape);
  prepare<Output::kBoth>(shape);
}

void launch_scores(const QueryRows& queries, const ItemBlocks& items, const TileGroup& group,
                   Output output, const LaunchShape& shape, unsigned long long* ticket,
                   const Stream& stream) {
  if (group.tiles == 0 || group.blocks == 0) return;
  switch (output) {
    case Output::kValues:
      return launch<Output::kValues>(queries, items, group, shape, ticket, stream);
    case Output::kTerms:
      return launch<Output::kTerms>(queries, items, group, shape, ticket, stream);
    case Output::kBoth:
      return launch<Output::kBoth>(queries, items, group, shape, ticket, stream);
  }
}

void launch_finish(const QueryRows& queries, const BlockGrid& grid, const TileGroup& group,
                   Output output, long long* sums, const Stream& stream) {
  const std::int64_t places = group.blocks * group.tile_queries;
  if (places == 0) return;
  auto* const kernel = output == Output::kValues  ? finish_kernel<Output::kValues>
                       : output == Output::kTerms ? finish_kernel<Output::kTerms>
                                                  : finish_kernel<Output::kBoth>;
  BULKSIM_LAUNCH(kernel, blocks_for(places * kWarp), kPieceThreads, 0, stream.get(), queries, grid,
                 group, reinterpret_cast<longlong2*>(sums));
  check_launch("the finish kernel");
}

}  // namespace bulksim::cuda
