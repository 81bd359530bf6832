#pragma once

#include <cstdint>

#include "backend/cuda/kernels/scores.hpp"
#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// A cell that may be wanted.
struct Candidate {
  std::uint32_t item;  ///< of the tile
  float score;
};

/// Which cells of a tile are copied to the host: those that exist, are at least the floor of their
/// row and below `below`, and are not 0 if zeros are excluded.
struct CellFilter {
  float below = 0.0f;
  bool leave_zeros = false;
  std::int64_t items = 0;         ///< existing ones of the column of tiles
  const float* floors = nullptr;  ///< [tile][row of the tile]; infinity where no row exists
};

/// Cells of one bitmap word.
inline constexpr int kWordCells = 32;

/// The cells of the tiles of a group that pass. The order of the tile is kept: rows ascend, and
/// items within a row.
///
///   bits[tile][row][item / 32]      the cells that pass
///   counts[tile][row]               candidates of the row
///   firsts[tile][row]               candidates of the rows before it
///   totals[tile]                    candidates of the tile; none are gathered beyond `capacity`
///   candidates[tile][capacity]
struct Candidates {
  std::int64_t capacity = 0;
  unsigned* bits = nullptr;
  unsigned* counts = nullptr;
  unsigned* firsts = nullptr;
  unsigned* totals = nullptr;
  Candidate* candidates = nullptr;
};

/// Words of the bitmap of one row.
BULKSIM_HOST_DEVICE std::int64_t row_words(std::int64_t tile_items) {
  return (tile_items + kWordCells - 1) / kWordCells;
}

/// Selects the candidates from the values of a group of tiles of `tile_items` columns.
void launch_filter(const TileGroup& group, std::int64_t tile_items, const CellFilter& filter,
                   const Candidates& to, const Stream& stream);

}  // namespace bulksim::cuda
