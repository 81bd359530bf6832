#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// The block sums of a result, as stored under /block_sums of its file:
///
///   fine, share   rows x columns, float64    live_rows  by row of fine blocks, int64
///   coarse        float64                    mask       rows x columns, 1 byte each
///
/// and their parameters, as attributes of the root. The mask is 1 for selected blocks; when no
/// block was skipped, it is 1 for all.
struct BlockMap {
  double softmax_scale = 0.0;
  TileShape tile;            ///< of the matrix; each tile is divided into fine blocks, see FineGrid
  std::int64_t rows = 0;     ///< of fine blocks
  std::int64_t columns = 0;  ///< of fine blocks
  std::int64_t coarse_rows = 0;
  std::int64_t coarse_columns = 0;
  bool is_estimate = false;  ///< estimated from a sample of antidiagonals, before computing
  std::vector<double> fine;
  std::vector<double> coarse;
  std::vector<double> share;
  std::vector<std::int64_t> live_rows;
  std::vector<std::uint8_t> mask;

  /// Shape of a fine block that is not at an edge.
  TileShape block() const;
  /// Query rows of a row of fine blocks, and items of a column; the last may extend past the
  /// matrix.
  RowRange queries(std::int64_t row) const;
  RowRange items(std::int64_t column) const;

  bool operator==(const BlockMap&) const = default;
};

/// The block map of a result (any path that SimilarityReader accepts); nothing when it has none.
/// Throws Error (65) when it is damaged.
std::optional<BlockMap> read_block_map(FileCalls& calls, const std::string& path);

}  // namespace bulksim
