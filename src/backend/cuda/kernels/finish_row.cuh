#pragma once

#include <climits>

#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/scores.hpp"
#include "bulksim/sparse/fixed_point.hpp"

// From exact sums to the results of a score kernel: cosines, row sums, softmax partials.
namespace bulksim::cuda {

inline constexpr int kPairs = kBlockItems / 2;

/// One query row times one item block.
struct Task {
  std::int64_t block;  // of the column of tiles
  int tile;
  int row;  // of the tile
  std::int64_t begin;
  std::int64_t end;  // of the entries of the query row; none for padding
};

__device__ inline Task make_task(const QueryRows& queries, const TileGroup& group,
                                 Wrapping number) {
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

/// The lanes of one warp, which finish one row.
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

/// The threads of a block, which finish one row together; each warp has its own sums.
struct BlockTeam {
  longlong2* sums;
  std::int64_t stride;  // from the sums of one warp to those of the next
  Wrapping* exchange;   // one element per warp

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
__device__ inline long long largest_sum(const Team& team, int valid) {
  long long largest = LLONG_MIN;
  for (int pair = team.index(); 2 * pair < valid; pair += team.size()) {
    const longlong2 sum = team.see(pair);
    largest = sum.x > largest ? sum.x : largest;
    if (2 * pair + 1 < valid && sum.y > largest) largest = sum.y;
  }
  return team.largest(largest);
}

/// Scores of a query row with two neighbouring items of a block; `left` of them exist.
struct PairScore {
  float inverse_one;
  double query_norm;
  const double* item_norms;  // of the block; null: cosines

  __device__ float operator()(long long sum, int item, int left) const {
    if (item_norms == nullptr) return to_cosine(sum, inverse_one);
    if (item >= left) return 0.0f;
    return to_dot(sum, static_cast<double>(inverse_one), query_norm * __ldg(item_norms + item));
  }
};

__device__ inline void store_pair(float* row, int pair, int width, bool even, float first,
                                  float second) {
  if (even) {
    __stcs(reinterpret_cast<float2*>(row) + pair, make_float2(first, second));
  } else {
    __stcs(row + 2 * pair, first);
    if (2 * pair + 1 < width) __stcs(row + 2 * pair + 1, second);
  }
}

__device__ inline Wrapping partial_of(long long sum, const BlockExp& block, float inverse_one) {
  return static_cast<Wrapping>(exp_weight(to_cosine(sum, inverse_one), block));
}

/// Converts the sums of a row to cosines and partials, two neighbours per thread, and clears the
/// sums.
template <Output kOutput, class Team>
__device__ inline void finish_row(const Team& team, const BlockGrid& grid, const TileGroup& group,
                                  const Task& task) {
  const int width = grid.width(group.first_block + task.block);
  const int valid = grid.valid(group.first_block + task.block);
  const bool even = grid.tile_items % 2 == 0;  // rows of an odd tile are not aligned for pairs
  const float largest = kHas<kOutput, Output::kPartials>
                            ? to_cosine(largest_sum(team, valid), group.inverse_one)
                            : 0.0f;
  const BlockExp block_of_row = block_exp(largest, group.exp_scale);
  float* const row = group.values +
                     (std::int64_t{task.tile} * group.tile_queries + task.row) * grid.tile_items +
                     task.block * kBlockItems;
  PairScore score{group.inverse_one, 0.0, nullptr};
  if (kHas<kOutput, Output::kValues> && group.item_norms != nullptr && task.begin < task.end) {
    score.query_norm = __ldg(group.query_norms + group.first_row[task.tile] + task.row);
    score.item_norms = group.item_norms + grid.first_item(group.first_block + task.block);
  }
  Wrapping row_sum = 0;
  Wrapping exp_sum = 0;
  // the values that partials share need the registers of two more steps
  BULKSIM_UNROLL((kHas<kOutput, Output::kPartials> ? 2 : 4))
  for (int pair = team.index(); 2 * pair < width; pair += team.size()) {
    const longlong2 sum = team.take(pair);
    row_sum += static_cast<Wrapping>(sum.x) + static_cast<Wrapping>(sum.y);
    if (kHas<kOutput, Output::kValues>) {
      store_pair(row, pair, width, even, score(sum.x, 2 * pair, valid),
                 score(sum.y, 2 * pair + 1, valid));
    }
    if (kHas<kOutput, Output::kPartials>) {
      if (2 * pair < valid) {
        exp_sum += partial_of(sum.x, block_of_row, group.inverse_one);
      }
      if (2 * pair + 1 < valid) {
        exp_sum += partial_of(sum.y, block_of_row, group.inverse_one);
      }
    }
  }
  row_sum = team.sum(row_sum);
  if (kHas<kOutput, Output::kPartials>) exp_sum = team.sum(exp_sum);
  if (team.index() != 0) return;
  const std::int64_t place = group.place(task.block, task.tile, task.row);
  group.row_sums[place] = row_sum;
  if (kHas<kOutput, Output::kPartials>) {
    const bool has_partial = task.begin < task.end && valid > 0;
    const std::int64_t row_of_group = std::int64_t{task.tile} * group.tile_queries + task.row;
    SoftmaxPartial& partial = group.partials[row_of_group * group.blocks + task.block];
    partial.largest = has_partial ? in_steps(largest, group.inverse_one) : LLONG_MIN;
    partial.sum = has_partial ? static_cast<long long>(exp_sum) : 0;
  }
}

}  // namespace bulksim::cuda
