#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/rows/labelled_rows.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// The column identity of a tile: sum_q A(q,i) = (sum_q Q) . I modulo 2^64 for each item. The right
/// side is computed from the canonical rows.
class ColumnIdentity {
 public:
  /// Adds up the query rows of a tile.
  void expect(const LabelledRows& queries, RowRange rows, std::uint32_t labels);
  /// Number of items in `range` whose identity does not hold; found[0] belongs to the first item.
  std::int64_t failures(const LabelledRows& items, RowRange range, const std::int64_t* found) const;

 private:
  std::vector<std::uint64_t> query_sums_;  // by label
};

/// A cell of a tile.
struct Cell {
  std::int64_t row = 0;
  std::int64_t item = 0;

  auto operator<=>(const Cell&) const = default;
};

/// The cells of a tile that are compared with a merge of their rows, in row order. A hash of the
/// tile number selects them among its `rows` x `items` cells.
std::array<Cell, kSampledCells> sampled_cells(std::int64_t tile_number, std::int64_t rows,
                                              std::int64_t items);

/// Whether a score is bit-identical to that of a merge of its two rows.
bool is_score_of(float value, const QuantizedRows& queries, std::int64_t query,
                 const QuantizedRows& items, std::int64_t item);

/// For one of this many sampled cells, the partial of its row and fine block is recomputed too.
inline constexpr std::size_t kCellsPerPartial = 32;

/// Whether a partial equals, by definition, that of these cosines of one row and fine block.
bool is_partial_of(const SoftmaxPartial& partial, std::span<const float> cosines, bool has_values,
                   ExpScale scale);

/// The error of a tile whose checks failed twice; names the tile and the host.
Error wrong_twice(TileId tile);

}  // namespace bulksim
