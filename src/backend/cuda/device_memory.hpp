#pragma once

#include <cstdint>
#include <string>

#include "backend/cuda/cuda_backend.hpp"

// What a CUDA backend takes of the memory of its device: the one place where it is counted. The
// plan counts before there is a device, the backend when it chooses its slices.
namespace bulksim::cuda {

/// Items of one block: one row identity, one set of accumulators in shared memory.
inline constexpr int kBlockItems = kFineRows;

/// Candidates that a filtered tile has room for: a quarter of the bytes of its values.
constexpr std::int64_t candidate_capacity(std::int64_t cells) {
  return cells / 8;
}

/// Item rows of a slice, some neighbouring columns of tiles.
struct SliceSize {
  std::int64_t items = 0;
  std::int64_t entries = 0;
  std::int64_t labels = 0;  ///< columns that the queries have

  /// Slices differ a little in their entries: with room for the next ones too.
  SliceSize with_reserve() const { return {items, entries + entries / 8, labels}; }
};

/// Device memory in bytes, by what lies in it.
struct DeviceMemory {
  std::int64_t queries = 0;
  std::int64_t item_rows = 0;    ///< of two slices: one is at work, one arrives
  std::int64_t item_blocks = 0;  ///< of one slice, and what they are sorted in
  std::int64_t tiles = 0;        ///< results of two groups

  std::int64_t total() const { return queries + item_rows + item_blocks + tiles; }
  /// "queries 1.2 GB + item rows 3.4 GB + item blocks 5.6 GB + tiles 120.0 MB".
  std::string text() const;
};

/// Of a query batch with `labels` different columns.
std::int64_t query_memory(std::int64_t rows, std::int64_t entries, std::int64_t labels);

/// Of the rows of one slice.
std::int64_t item_row_memory(const SliceSize& slice);

/// Of the inverted blocks of a slice, the sums of the columns of one column of tiles, and
/// `scratch` bytes to sort in.
std::int64_t item_block_memory(const TileShape& tile, const SliceSize& slice, std::int64_t scratch);

/// What sorting takes at most; the device alone knows it exactly.
std::int64_t sort_scratch_estimate(std::int64_t entries);

/// Of the results of one group of `tiles` tiles; `filtered` where pairs are taken out of them.
std::int64_t tile_memory(const CudaBackendOptions& options, std::int64_t tiles, bool filtered);

/// What the score kernel reads of one block.
std::int64_t block_read_bytes(std::int64_t entries, std::int64_t labels);

}  // namespace bulksim::cuda
