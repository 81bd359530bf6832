#include "blocks/block_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace bulksim {

namespace {

constexpr int kWeightBits = 62;

std::size_t at(std::int64_t place) {
  return place;
}

// Without the instruction, a fused multiply-add is a library call: the same bits, fifty times
// slower.
#if defined(__x86_64__)
[[gnu::target("fma"), gnu::flatten]] double fused_ratio(std::int64_t distance, ExpScale scale) {
  return exp_ratio(distance, scale);
}

double fast_ratio(std::int64_t distance, ExpScale scale) {
  static const bool fuses = __builtin_cpu_supports("fma") != 0;
  return fuses ? fused_ratio(distance, scale) : exp_ratio(distance, scale);
}
#else
double fast_ratio(std::int64_t distance, ExpScale scale) {
  return exp_ratio(distance, scale);
}
#endif

int ceil_log2(std::int64_t value) {
  return value <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value - 1)));
}

}  // namespace

std::vector<double> BlockSums::coarse() const {
  std::vector<double> sums(at(coarse_rows() * coarse_columns()));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      sums[at(row / kCoarseBlocks * coarse_columns() + column / kCoarseBlocks)] +=
          fine[at(row * columns + column)];
    }
  }
  return sums;
}

std::vector<double> BlockSums::share() const {
  std::vector<double> shares(fine.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    if (live_rows[at(row)] == 0) continue;
    for (std::int64_t column = 0; column < columns; ++column) {
      shares[at(row * columns + column)] =
          fine[at(row * columns + column)] / static_cast<double>(live_rows[at(row)]);
    }
  }
  return shares;
}

BlockSumBuilder::BlockSumBuilder(const TileGrid& tiles, double softmax_scale)
    : tiles_(tiles),
      blocks_(tiles),
      scale_(exp_scale(softmax_scale)),
      unit_(std::ldexp(1.0, kWeightBits - ceil_log2(tiles.shape().items) - kPartialBits)),
      maxima_(at(tiles.shape().queries), std::numeric_limits<std::int64_t>::min()),
      weights_(at(tiles.shape().queries)),
      fine_(at(blocks_.rows() * blocks_.columns())) {}

void BlockSumBuilder::find_maxima(TileId tile, std::span<const SoftmaxPartial> partials) {
  const RowRange queries = tiles_.queries(tile.row);
  const std::int64_t blocks = blocks_.columns_of_a_tile();
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    for (const SoftmaxPartial& partial :
         partials.subspan(at((query - queries.begin) * blocks), at(blocks))) {
      if (partial.sum > 0) maxima_[at(query)] = std::max(maxima_[at(query)], partial.largest);
    }
  }
}

double BlockSumBuilder::weight(const SoftmaxPartial& partial, std::int64_t query) const {
  const double ratio = fast_ratio(partial.largest - maxima_[at(query)], scale_);
  return static_cast<double>(partial.sum) * ratio * unit_;
}

void BlockSumBuilder::add_weights(TileId tile, std::span<const SoftmaxPartial> partials) {
  const RowRange queries = tiles_.queries(tile.row);
  const std::int64_t blocks = blocks_.columns_of_a_tile();
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    for (const SoftmaxPartial& partial :
         partials.subspan(at((query - queries.begin) * blocks), at(blocks))) {
      if (partial.sum > 0) weights_[at(query)] += std::llrint(weight(partial, query));
    }
  }
}

void BlockSumBuilder::sum_blocks(TileId tile, std::span<const SoftmaxPartial> partials) {
  const RowRange queries = tiles_.queries(tile.row);
  const std::int64_t blocks = blocks_.columns_of_a_tile();
  const std::int64_t first_row = tile.row * blocks_.rows_of_a_tile();
  const std::int64_t first_column = tile.column * blocks;
  const std::int64_t existing = std::min(blocks, blocks_.columns() - first_column);
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const std::int64_t row = first_row + (query - queries.begin) / kFineRows;
    for (std::int64_t block = 0; block < existing; ++block) {
      const SoftmaxPartial& partial = partials[at((query - queries.begin) * blocks + block)];
      if (partial.sum == 0) continue;
      fine_[at(row * blocks_.columns() + first_column + block)] +=
          weight(partial, query) / static_cast<double>(weights_[at(query)]);
    }
  }
}

BlockSums BlockSumBuilder::finish() && {
  BlockSums sums{blocks_.rows(), blocks_.columns(), std::move(fine_), {}};
  for (std::int64_t row = 0; row < sums.rows; ++row) {
    const RowRange queries = blocks_.queries(row);
    sums.live_rows.push_back(std::count_if(weights_.begin() + queries.begin,
                                           weights_.begin() + queries.end,
                                           [](std::int64_t weight) { return weight > 0; }));
  }
  return sums;
}

}  // namespace bulksim
