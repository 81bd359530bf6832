#pragma once

// Rows and the tiles of one column of their product: by definition, and as computed by each kernel.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "backend/cuda/kernels/panel.hpp"
#include "backend/cuda/kernels/row_identity.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "backend/cuda/stream/query_panel.hpp"
#include "emulator/kernels/cuda_test_support.hpp"

namespace bulksim::cuda {

using Wrapping = unsigned long long;

inline constexpr double kSoftmaxScale = 20.0;

/// The results of the kernels for one column of tiles.
struct Result {
  std::vector<std::uint32_t> values;  // as bits
  std::vector<Wrapping> row_sums;
  std::vector<SoftmaxPartial> partials;
};

struct Problem {
  QuantizedRows queries;
  QuantizedRows items;
  std::int64_t tile_queries;
  std::int64_t tile_items;

  int tiles() const { return static_cast<int>(divide_up(queries.rows(), tile_queries)); }
  BlockGrid blocks() const { return {items.rows(), tile_items}; }
  std::int64_t rows() const { return tiles() * tile_queries; }
};

/// Values and partials by definition, for column 0 of the tiles only.
inline Result expected(const Problem& problem) {
  const BlockGrid blocks = problem.blocks();
  const std::int64_t per_tile = blocks.blocks_per_tile();
  Result result;
  result.values.assign(static_cast<std::size_t>(problem.rows() * problem.tile_items), 0);
  result.partials.resize(static_cast<std::size_t>(problem.rows() * per_tile));
  for (std::int64_t block = 0; block < per_tile; ++block) {
    for (std::int64_t row = 0; row < problem.rows(); ++row) {
      const bool exists = row < problem.queries.rows();
      std::vector<float> cosines;
      Wrapping row_sum = 0;
      for (int i = 0; i < blocks.valid(block); ++i) {
        const std::int64_t item = blocks.first_item(block) + i;
        const std::int64_t sum = exists ? exact_sum(problem.queries, row, problem.items, item) : 0;
        row_sum += static_cast<Wrapping>(sum);
        cosines.push_back(exists ? score_of_sum(sum, problem.queries, row, problem.items, item)
                                 : 0.0f);
        result.values[static_cast<std::size_t>(row * problem.tile_items + item)] =
            std::bit_cast<std::uint32_t>(cosines.back());
      }
      const bool has_values = exists && !problem.queries.columns_of(row).empty();
      result.row_sums.push_back(row_sum);
      if (!has_values || cosines.empty()) continue;
      result.partials[static_cast<std::size_t>(row * per_tile + block)] =
          softmax_partial(cosines, 0, exp_scale(kSoftmaxScale));
    }
  }
  return result;
}

/// A problem on the device, ready for either kernel.
class Bench {
 public:
  explicit Bench(const Problem& problem)
      : problem_(problem),
        queries_(problem.queries, problem.tile_queries, stream_),
        items_(problem.items, queries_.view(), stream_),
        values_(problem.rows() * problem.tile_items),
        row_sums_(places()),
        partials_(places()),
        ticket_(1) {
    BULKSIM_EXPECT(problem.tiles() <= kGroupTiles);
  }

  std::int64_t places() const { return problem_.blocks().blocks_per_tile() * problem_.rows(); }

  TileGroup group() const {
    TileGroup group;
    group.tiles = problem_.tiles();
    group.tile_queries = static_cast<int>(problem_.tile_queries);
    for (int tile = 0; tile < group.tiles; ++tile) {
      group.first_row[tile] = tile * problem_.tile_queries;
      group.long_rows[tile] = queries_.long_rows(tile);
    }
    group.blocks = problem_.blocks().blocks_per_tile();
    group.query_scales = queries_.view().scales;
    group.item_scales = items_.view.scales;
    group.exp_scale = exp_scale(kSoftmaxScale);
    group.values = values_.data();
    group.row_sums = row_sums_.data();
    group.partials = partials_.data();
    return group;
  }

  Result run_scores(Output output) {
    const LaunchShape shape = LaunchShape::of(Device(0));
    prepare_score_kernels(shape);
    const ItemBlocks blocks = builder_.build(items_.view, items_.entries, problem_.blocks(),
                                             queries_.view().labels, stream_);
    launch_scores(queries_.view(), blocks, group(), output, shape, ticket_.data(), stream_);
    return read(output);
  }

  Result run_panels(Output output) {
    const std::int64_t row_sums = problem_.blocks().blocks_per_tile() * kBlockItems;
    Result all;
    for (int tile = 0; tile < problem_.tiles(); ++tile) {
      const DeviceBuffer<long long> sums(problem_.tile_queries * row_sums);
      clear(sums.data(), sums.size(), stream_);
      const std::int64_t first = tile * problem_.tile_queries;
      const RowRange rows{first, std::min(first + problem_.tile_queries, problem_.queries.rows())};
      for (RowRange some{rows.begin, rows.begin}; some.end < rows.end; some.begin = some.end) {
        some.end = std::min(some.begin + kPanelQueries, rows.end);
        const QueryPanel panel(problem_.queries, some, queries_.vocabulary(), stream_);
        launch_panel(panel.view(some.begin - first), items_.view, problem_.blocks(), 0,
                     std::min(problem_.tile_items, problem_.items.rows()), sums.data(), stream_);
        stream_.wait();
      }
      TileGroup one = group();
      one.tiles = 1;
      one.first_row[0] = first;
      one.values += first * problem_.tile_items;
      one.partials += first * problem_.blocks().blocks_per_tile();
      launch_finish(queries_.view(), problem_.blocks(), one, output, sums.data(), stream_);
      append(all, read(output), tile);
    }
    return all;
  }

  /// The number of rows per tile whose row identity does not hold.
  std::vector<unsigned> wrong_rows() {
    const DeviceBuffer<Wrapping> sums(problem_.blocks().blocks_per_tile() * queries_.view().labels);
    const DeviceBuffer<unsigned> mismatches(kGroupTiles);
    const std::int64_t items = std::min(problem_.tile_items, problem_.items.rows());
    launch_column_sums(items_.view, problem_.blocks(), 0,
                       problem_.items.row_offsets[static_cast<std::size_t>(items)], 0,
                       problem_.blocks().blocks_per_tile(), queries_.view().labels, sums.data(),
                       stream_);
    launch_row_check(queries_.view(), group(), sums.data(), mismatches.data(), stream_);
    return download_all(mismatches.data(), problem_.tiles(), stream_);
  }

  const Stream& stream() const { return stream_; }

 private:
  Result read(Output output) const {
    Result result;
    result.row_sums = download_all(row_sums_.data(), places(), stream_);
    if (output != Output::kPartials) {
      const auto floats = download_all(values_.data(), values_.size(), stream_);
      for (const float value : floats)
        result.values.push_back(std::bit_cast<std::uint32_t>(value));
    }
    if (output != Output::kValues) {
      result.partials = download_all(partials_.data(), places(), stream_);
    }
    return result;
  }

  /// Copies the results of a group of one tile into those of all tiles.
  void append(Result& all, const Result& one, int tile) const {
    all.values = one.values;  // each tile has its own position there
    all.partials = one.partials;
    const auto scatter = [&](auto& to, const auto& from) {
      to.resize(from.size());
      for (std::int64_t block = 0; block < problem_.blocks().blocks_per_tile(); ++block) {
        for (std::int64_t row = 0; row < problem_.tile_queries; ++row) {
          to[static_cast<std::size_t>((block * problem_.tiles() + tile) * problem_.tile_queries +
                                      row)] =
              from[static_cast<std::size_t>(block * problem_.tile_queries + row)];
        }
      }
    };
    scatter(all.row_sums, one.row_sums);
  }

  const Problem& problem_;
  Stream stream_;
  DeviceQueries queries_;
  test::LabelledItems items_;
  DeviceBuffer<float> values_;
  DeviceBuffer<Wrapping> row_sums_;
  DeviceBuffer<SoftmaxPartial> partials_;
  DeviceBuffer<Wrapping> ticket_;
  BlockBuilder builder_;
};

}  // namespace bulksim::cuda
