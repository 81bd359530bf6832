#pragma once

#include <algorithm>
#include <cstdint>

#include "bulksim/core/error.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Shape of a tile: `queries` rows of `items` values. A tile is one chunk of an output file.
struct TileShape {
  std::int64_t queries = 1;
  std::int64_t items = 1;

  std::int64_t cells() const { return queries * items; }
  auto operator<=>(const TileShape&) const = default;
};

/// Position of a tile: `row` counts tiles along the queries, `column` along the items.
struct TileId {
  std::int64_t row = 0;
  std::int64_t column = 0;

  auto operator<=>(const TileId&) const = default;
};

/// The matrix divided into tiles; the last row and column of tiles may extend past its edge.
///
///              column 0    column 1
///   row 0     | tile 0,0 | tile 0,1 |..   Tiles are numbered column by column (0,0 1,0 .. 0,1 1,1
///   row 1     | tile 1,0 | tile 1,1 |..   ..), so that consecutive numbers share item rows.
class TileGrid {
 public:
  TileGrid() = default;
  TileGrid(MatrixShape shape, TileShape tile) : shape_(shape), tile_(tile) {
    BULKSIM_EXPECT(tile.queries > 0 && tile.items > 0);
  }

  const MatrixShape& shape() const { return shape_; }
  const TileShape& tile() const { return tile_; }
  std::int64_t rows() const { return divide_up(shape_.queries, tile_.queries); }
  std::int64_t columns() const { return divide_up(shape_.items, tile_.items); }
  std::int64_t count() const { return rows() * columns(); }

  std::int64_t number(TileId id) const { return id.column * rows() + id.row; }
  TileId id(std::int64_t number) const { return {number % rows(), number / rows()}; }

  /// Existing query rows of a row of tiles (fewer than a tile at the edge).
  RowRange queries(std::int64_t row) const { return range_of(row, tile_.queries, shape_.queries); }
  /// Existing item rows of a column of tiles.
  RowRange items(std::int64_t column) const { return range_of(column, tile_.items, shape_.items); }

  bool operator==(const TileGrid&) const = default;

 private:
  static RowRange range_of(std::int64_t piece, std::int64_t size, std::int64_t total) {
    return {std::min(piece * size, total), std::min((piece + 1) * size, total)};
  }

  MatrixShape shape_;
  TileShape tile_;
};

}  // namespace bulksim
