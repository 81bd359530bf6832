#pragma once

#include <climits>
#include <cstring>

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
  static constexpr int kUnrolled = 4;

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
  static constexpr int kUnrolled = 2;  // more take more registers than there are

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

/// Scores of a query row with the items of a block; 0 for items that do not exist.
struct BlockScores {
  double query_scale = 0.0;
  const double* item_scales = nullptr;  // of the block
  int valid = 0;

  __device__ float operator()(long long sum, int item) const {
    return item < valid ? to_score(sum, query_scale, __ldg(item_scales + item)) : 0.0f;
  }
};

/// The bits of a score as an integer in the order of the numbers, and back. No score is -0.
__device__ inline int ordered_bits(float score) {
  int bits = 0;
  std::memcpy(&bits, &score, sizeof bits);
  return bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
}
__device__ inline float from_ordered_bits(int bits) {
  bits = bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
  float score = 0.0f;
  std::memcpy(&score, &bits, sizeof score);
  return score;
}

/// Largest score of the items that exist; at least one does.
template <class Team>
__device__ inline float largest_score(const Team& team, const BlockScores& score) {
  long long largest = LLONG_MIN;
  for (int pair = team.index(); 2 * pair < score.valid; pair += team.size()) {
    const longlong2 sum = team.see(pair);
    float more = score(sum.x, 2 * pair);
    if (2 * pair + 1 < score.valid) more = fmaxf(more, score(sum.y, 2 * pair + 1));
    const long long place = ordered_bits(more);
    largest = place > largest ? place : largest;
  }
  return from_ordered_bits(static_cast<int>(team.largest(largest)));
}

__device__ inline void store_pair(float* row, int pair, int width, bool even, float first,
                                  float second) {
  if (even) {
    __stcs(reinterpret_cast<float2*>(row) + pair, make_float2(first, second));
  } else {
    __stcs(row + 2 * pair, first);
    if (2 * pair + 1 < width) __stcs(row + 2 * pair + 1, second);
  }
}

/// Converts the sums of a row to scores and partials, two neighbours per thread, and clears the
/// sums.
template <Output kOutput, class Team>
__device__ inline void finish_row(const Team& team, const BlockGrid& grid, const TileGroup& group,
                                  const Task& task) {
  const int width = grid.width(group.first_block + task.block);
  const int valid = grid.valid(group.first_block + task.block);
  const bool even = grid.tile_items % 2 == 0;  // rows of an odd tile are not aligned for pairs
  BlockScores score;
  if (task.begin < task.end) {
    score = {__ldg(group.query_scales + group.first_row[task.tile] + task.row),
             group.item_scales + grid.first_item(group.first_block + task.block), valid};
  }
  const bool has_partial = kHas<kOutput, Output::kPartials> && score.valid > 0;
  const float largest = has_partial ? largest_score(team, score) : 0.0f;
  const BlockExp block_of_row = block_exp(largest, group.exp_scale);
  float* const row = group.values +
                     (std::int64_t{task.tile} * group.tile_queries + task.row) * grid.tile_items +
                     task.block * kBlockItems;
  Wrapping row_sum = 0;
  Wrapping exp_sum = 0;
  // the values that partials share need the registers of two more steps
  BULKSIM_UNROLL((kHas<kOutput, Output::kPartials> ? 2 : Team::kUnrolled))
  for (int pair = team.index(); 2 * pair < width; pair += team.size()) {
    const longlong2 sum = team.take(pair);
    row_sum += static_cast<Wrapping>(sum.x) + static_cast<Wrapping>(sum.y);
    const float first = score(sum.x, 2 * pair);
    const float second = score(sum.y, 2 * pair + 1);
    if (kHas<kOutput, Output::kValues>) store_pair(row, pair, width, even, first, second);
    if (kHas<kOutput, Output::kPartials>) {
      if (2 * pair < valid) exp_sum += static_cast<Wrapping>(exp_weight(first, block_of_row));
      if (2 * pair + 1 < valid) exp_sum += static_cast<Wrapping>(exp_weight(second, block_of_row));
    }
  }
  row_sum = team.sum(row_sum);
  if (kHas<kOutput, Output::kPartials>) exp_sum = team.sum(exp_sum);
  if (team.index() != 0) return;
  const std::int64_t place = group.place(task.block, task.tile, task.row);
  group.row_sums[place] = row_sum;
  if (kHas<kOutput, Output::kPartials>) {
    const std::int64_t row_of_group = std::int64_t{task.tile} * group.tile_queries + task.row;
    SoftmaxPartial& partial = group.partials[row_of_group * group.blocks + task.block];
    partial.largest = has_partial ? partial_largest(largest) : LLONG_MIN;
    partial.sum = has_partial ? static_cast<long long>(exp_sum) : 0;
  }
}

}  // namespace bulksim::cuda
