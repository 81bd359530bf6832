#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/block_items.hpp"
#include "bulksim/core/host_device.hpp"

// Layout of queries, item rows and item blocks in device memory. No pointer is owned.
namespace bulksim::cuda {

/// The label of columns that no query has.
inline constexpr std::uint32_t kNoLabel = 0xFFFFFFFF;

/// The rows of a query batch.
struct QueryRows {
  std::int64_t rows = 0;
  std::uint32_t labels = 0;                 ///< size of the vocabulary
  const std::int64_t* offsets = nullptr;    ///< rows + 1
  const int2* entries = nullptr;            ///< {label, value}; labels ascend within a row
  const std::uint32_t* order = nullptr;     ///< rows of each tile row, longest first
  const std::uint32_t* columns = nullptr;   ///< of the vocabulary, ascending
  const std::uint32_t* label_of = nullptr;  ///< label of each of `columns`
  const double* scales = nullptr;           ///< QuantizedRows::scales of the rows
};

/// The item rows of a slice (some neighbouring columns of tiles) as CSR, with columns replaced by
/// labels.
struct ItemRows {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;  ///< rows + 1, from 0
  const std::uint32_t* labels = nullptr;  ///< kNoLabel if no query has the column
  const std::int32_t* values = nullptr;
  const double* scales = nullptr;  ///< as in QueryRows
};

/// How a slice is divided: blocks of 1,024 items, restarting with each tile.
///
///   tile 0                    tile 1                tile_items = 2,500: 3 blocks per tile,
///   | 1024 | 1024 | 452 |     | 1024 | 1024 | 452 | the last one short
struct BlockGrid {
  std::int64_t items = 0;  ///< rows of the slice
  std::int64_t tile_items = 1;

  BULKSIM_HOST_DEVICE std::int64_t blocks_per_tile() const {
    return (tile_items + kBlockItems - 1) / kBlockItems;
  }
  BULKSIM_HOST_DEVICE std::int64_t blocks() const {
    return (items + tile_items - 1) / tile_items * blocks_per_tile();
  }
  BULKSIM_HOST_DEVICE std::int64_t block_of(std::int64_t item) const {
    return item / tile_items * blocks_per_tile() + item % tile_items / kBlockItems;
  }
  BULKSIM_HOST_DEVICE int place_in_block(std::int64_t item) const {
    return static_cast<int>(item % tile_items % kBlockItems);
  }
  BULKSIM_HOST_DEVICE std::int64_t first_item(std::int64_t block) const {
    return block / blocks_per_tile() * tile_items + block % blocks_per_tile() * kBlockItems;
  }
  /// Values of the block in a tile; those past the last item are zeros.
  BULKSIM_HOST_DEVICE int width(std::int64_t block) const {
    const std::int64_t left = tile_items - block % blocks_per_tile() * kBlockItems;
    return static_cast<int>(left < kBlockItems ? left : kBlockItems);
  }
  /// Items of the block.
  BULKSIM_HOST_DEVICE int valid(std::int64_t block) const {
    const std::int64_t left = items - first_item(block);
    const std::int64_t most = width(block);
    return static_cast<int>(left < 0 ? 0 : left < most ? left : most);
  }
};

/// The inverted blocks of a slice: for each block and label, the items that have it.
///
///   look[block * words + label / 32] = {bitmap of 32 labels, number of labels before}
///     -> k, the rank of the label in the block
///   lists[first[block] + k] = {first posting, postings}      at most 1,024 of them
///     -> postings[first[block] + first posting ..] = {value, item of the block}, items distinct
///
/// Each list cycles through the 16 banks of shared memory (item modulo 16) as far as its items
/// allow.
struct ItemBlocks {
  BlockGrid grid;
  std::int64_t words = 0;  ///< of the lookup of one block: labels / 32, rounded up
  const uint2* look = nullptr;
  const std::int64_t* first = nullptr;  ///< blocks + 1
  const uint2* lists = nullptr;
  const int2* postings = nullptr;
};

/// Banks of shared memory, counted in accumulators of eight bytes.
inline constexpr int kBanks = 16;

}  // namespace bulksim::cuda
