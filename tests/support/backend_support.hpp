#pragma once

// Shared by the tests of all backends: problems, a sink that keeps tiles, and the comparison.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blocks/fine_grid.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {

/// Keeps finished tiles, and counts calls that violate the order begin, write .. write, finish.
class TileCollector final : public TileSink {
 public:
  explicit TileCollector(TileShape shape) : shape_(shape) {}

  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::map<TileId, std::vector<float>> tiles;
  std::map<TileId, std::vector<SoftmaxPartial>> partials;
  std::int64_t disorder = 0;
  std::atomic<std::int64_t> begun = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(TileCollector& sink) : sink_(sink) {}

    void begin(TileId tile) override {
      ++sink_.begun;
      tile_ = tile;
      values_.clear();
      partials_.clear();
      stripes_in_order_ = true;
    }
    void write(const TileStripe& stripe) override {
      const auto rows = static_cast<std::int64_t>(values_.size()) / sink_.shape_.items;
      const auto size = static_cast<std::int64_t>(stripe.values.size());
      stripes_in_order_ &= stripe.tile == tile_ && stripe.first_row == rows &&
                           size == stripe.rows * sink_.shape_.items;
      values_.insert(values_.end(), stripe.values.begin(), stripe.values.end());
      partials_.insert(partials_.end(), stripe.partials.begin(), stripe.partials.end());
    }
    void finish() override {
      const std::lock_guard lock(sink_.mutex_);
      const bool whole = static_cast<std::int64_t>(values_.size()) == sink_.shape_.cells();
      const bool first = sink_.tiles.emplace(tile_, values_).second;
      sink_.disorder += !stripes_in_order_ || !whole || !first;
      sink_.partials[tile_] = partials_;
    }

   private:
    TileCollector& sink_;
    TileId tile_;
    std::vector<float> values_;
    std::vector<SoftmaxPartial> partials_;
    bool stripes_in_order_ = true;
  };

  TileShape shape_;
  std::mutex mutex_;
};

/// A sink that cannot write tiles.
class FullDisk final : public TileSink {
 public:
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::atomic<int> open_writers = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(FullDisk& sink) : sink_(sink) { ++sink_.open_writers; }
    ~Writer() override { --sink_.open_writers; }

    void begin(TileId) override {}
    void write(const TileStripe&) override { throw Error(ExitCode::kIoError, "the disk is full"); }
    void finish() override {}

   private:
    FullDisk& sink_;
  };
};

/// Rows [begin, end) of `rows`.
inline QuantizedRows slice_of(const QuantizedRows& rows, RowRange range) {
  QuantizedRows slice;
  slice.columns = rows.columns;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const auto columns = rows.columns_of(row);
    const auto values = rows.values_of(row);
    slice.col_indices.insert(slice.col_indices.end(), columns.begin(), columns.end());
    slice.values.insert(slice.values.end(), values.begin(), values.end());
    slice.row_offsets.push_back(static_cast<std::int64_t>(slice.values.size()));
    slice.scales.push_back(rows.scales[static_cast<std::size_t>(row)]);
  }
  return slice;
}

/// Queries, items and the tiles of their product.
struct BackendProblem {
  TileGrid grid;
  FixedPoint arithmetic;
  QueryBatch queries;
  QuantizedRows items;

  BackendProblem(MatrixShape shape, TileShape tile, FixedPoint format = kQ26)
      : grid(shape, tile), arithmetic(format) {
    queries.range = {0, shape.queries};
    queries.rows = quantized_rows(random_rows(shape.queries, 200, 12, 1), arithmetic);
    items = quantized_rows(random_rows(shape.items, 200, 15, 2), arithmetic);
  }

  /// The items of some tile columns, with all their tiles.
  ItemChunk chunk(RowRange columns) const {
    ItemChunk chunk;
    chunk.range = {grid.items(columns.begin).begin, grid.items(columns.end - 1).end};
    chunk.rows = slice_of(items, chunk.range);
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      for (std::int64_t row = 0; row < grid.rows(); ++row)
        chunk.tiles.push_back({row, column});
    }
    return chunk;
  }

  /// Submits every tile, `columns` tile columns at a time.
  void run(SimilarityBackend& backend, TileSink& sink, std::int64_t columns = 2) const {
    backend.set_queries(queries, sink);
    for (std::int64_t column = 0; column < grid.columns(); column += columns) {
      backend.submit(chunk({column, std::min(column + columns, grid.columns())}));
    }
    backend.drain();
  }

  /// Number of cells whose bits differ from the merge, or from +0.0 past the edge.
  std::int64_t wrong_cells(const TileCollector& sink) const {
    std::int64_t wrong = 0;
    for (const auto& [tile, values] : sink.tiles) {
      for (std::int64_t cell = 0; cell < grid.tile().cells(); ++cell) {
        const std::int64_t q = tile.row * grid.tile().queries + cell / grid.tile().items;
        const std::int64_t i = tile.column * grid.tile().items + cell % grid.tile().items;
        const bool exists = q < grid.shape().queries && i < grid.shape().items;
        const float right = exists ? exact_score(queries.rows, q, items, i) : 0.0f;
        wrong += std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(cell)]) !=
                 std::bit_cast<std::uint32_t>(right);
      }
    }
    return wrong;
  }

  /// Number of softmax partials of a tile that differ from the definition, applied to the scores of
  /// the merge.
  std::int64_t wrong_partials(TileId tile, const std::vector<SoftmaxPartial>& partials,
                              double softmax_scale) const {
    const std::int64_t blocks = FineGrid(grid).columns_of_a_tile();
    const RowRange rows = grid.queries(tile.row);
    const RowRange columns = grid.items(tile.column);
    std::vector<SoftmaxPartial> right(static_cast<std::size_t>(grid.tile().queries * blocks));
    for (std::int64_t q = rows.begin; q < rows.end; ++q) {
      if (queries.rows->columns_of(q).empty()) continue;
      for (std::int64_t begin = columns.begin; begin < columns.end; begin += kFineRows) {
        std::vector<float> scores;
        for (std::int64_t i = begin; i < std::min(begin + kFineRows, columns.end); ++i)
          scores.push_back(exact_score(queries.rows, q, items, i));
        const std::int64_t block = (begin - columns.begin) / kFineRows;
        right[static_cast<std::size_t>((q - rows.begin) * blocks + block)] =
            softmax_partial(scores, 0, exp_scale(softmax_scale));
      }
    }
    if (partials.size() != right.size()) return std::ssize(right);
    std::int64_t wrong = 0;
    for (std::size_t at = 0; at < right.size(); ++at)
      wrong += partials[at] != right[at];
    return wrong;
  }
};

}  // namespace bulksim::test
