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

/// Which cells of a tile are worth their way to the host: those that exist, at least the floor of
/// their row, below `below`, and not 0 where zeros are left out.
struct CellFilter {
  float below = 0.0f;
  bool leave_zeros = false;
  std::int64_t items = 0;         ///< of the column of tiles that exist
  const float* floors = nullptr;  ///< [tile][row of the tile]; infinity where there is no row
};

/// Cells of one bitmap word.
inline constexpr int kWordCells = 32;

/// What is left of the tiles of a group. Nothing is left out of a tile but its order is kept: rows
/// ascend, and in a row the items.
///
///   bits[tile][row][item / 32]      the cells that pass
///   counts[tile][row]               how many of the row
///   firsts[tile][row]               how many of the rows before
///   totals[tile]                    how many of the tile; beyond `capacity` none are gathered
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

/// Takes the candidates out of the values of a group of tiles of `tile_items` columns.
void launch_filter(const TileGroup& group, std::int64_t tile_items, const CellFilter& filter,
                   const Candidates& to, const Stream& stream);

}  // namespace bulksim::cuda
