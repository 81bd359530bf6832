#pragma once

#include <algorithm>
#include <cstdint>

#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// The matrix divided into fine blocks of 1,024 x 1,024, or of a tile's size where that is smaller.
/// Each tile is divided from its first row and column, so that a fine block lies inside one tile.
class FineGrid {
 public:
  FineGrid() = default;
  explicit FineGrid(const TileGrid& tiles)
      : queries_{tiles.shape().queries, tiles.tile().queries},
        items_{tiles.shape().items, tiles.tile().items} {}

  std::int64_t rows() const { return queries_.blocks(); }
  std::int64_t columns() const { return items_.blocks(); }
  /// Blocks per whole tile, including those past the edge of the matrix.
  std::int64_t rows_of_a_tile() const { return queries_.of_a_tile(); }
  std::int64_t columns_of_a_tile() const { return items_.of_a_tile(); }
  /// Existing query rows and items of a block.
  RowRange queries(std::int64_t row) const { return queries_.range(row); }
  RowRange items(std::int64_t column) const { return items_.range(column); }
  /// Shape of a block that is not at an edge.
  TileShape block() const { return {queries_.size(), items_.size()}; }

 private:
  /// One side of the matrix.
  struct Side {
    std::int64_t total = 0;
    std::int64_t tile = 1;

    std::int64_t size() const { return std::min(kFineRows, tile); }
    std::int64_t of_a_tile() const { return divide_up(tile, kFineRows); }
    std::int64_t blocks() const {
      return total / tile * of_a_tile() + divide_up(total % tile, kFineRows);
    }
    RowRange range(std::int64_t block) const {
      const std::int64_t first = block / of_a_tile() * tile;
      const std::int64_t begin = first + block % of_a_tile() * kFineRows;
      const std::int64_t end = std::min(begin + kFineRows, first + tile);
      return {std::min(begin, total), std::min(end, total)};
    }
  };

  Side queries_;
  Side items_;
};

/// Softmax partials per whole tile: one per row and fine column of the tile, row-major.
inline std::int64_t partials_per_tile(const TileGrid& tiles) {
  return tiles.tile().queries * FineGrid(tiles).columns_of_a_tile();
}

}  // namespace bulksim
