#pragma once

#include <cstdint>
#include <string>

#include "backend/cuda/block_items.hpp"
#include "backend/cuda/cuda_backend.hpp"

// Memory that a CUDA backend uses on its device. Counted only here: by the plan before a device is
// opened, and by the backend when it chooses its slices.
namespace bulksim::cuda {

/// Most candidates of a filtered tile: a quarter of the bytes of its values.
constexpr std::int64_t candidate_capacity(std::int64_t cells) {
  return cells / 8;
}

/// Item rows of a slice, that is, of some neighbouring columns of tiles.
struct SliceSize {
  std::int64_t items = 0;
  std::int64_t entries = 0;
  std::int64_t labels = 0;  ///< columns that the queries have

  /// Slices differ a little in their number of entries: adds room for the next ones.
  SliceSize with_reserve() const { return {items, entries + entries / 8, labels}; }
};

/// Device memory in bytes, by content.
struct DeviceMemory {
  std::int64_t queries = 0;
  std::int64_t item_rows = 0;    ///< of two slices: one is computed, one arrives
  std::int64_t item_blocks = 0;  ///< of one slice, with sort buffers
  std::int64_t tiles = 0;        ///< results of two groups

  std::int64_t total() const { return queries + item_rows + item_blocks + tiles; }
  /// "queries 1.2 GB + item rows 3.4 GB + item blocks 5.6 GB + tiles 120.0 MB".
  std::string text() const;
};

/// Bytes of a query batch with `labels` distinct columns.
std::int64_t query_memory(std::int64_t rows, std::int64_t entries, std::int64_t labels);

/// Bytes of the rows of one slice.
std::int64_t item_row_memory(const SliceSize& slice);

/// Bytes of the inverted blocks of a slice, the column sums of one column of tiles, and `scratch`
/// bytes for sorting.
std::int64_t item_block_memory(const TileShape& tile, const SliceSize& slice, std::int64_t scratch);

/// Upper bound of the sort scratch; only the device reports the exact size.
std::int64_t sort_scratch_estimate(std::int64_t entries);

/// Bytes of the results of one group of `tiles` tiles; `filtered` if pairs are selected from them.
std::int64_t tile_memory(const CudaBackendOptions& options, std::int64_t tiles, bool filtered);

/// Bytes of one block that the score kernel reads.
std::int64_t block_read_bytes(std::int64_t entries, std::int64_t labels);

}  // namespace bulksim::cuda
