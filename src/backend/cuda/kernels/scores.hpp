#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Most tiles per launch: enough to fill a device many times over.
inline constexpr int kGroupTiles = 16;

/// What the score kernel writes for each query row and item block.
enum class Output {
  kValues = 1,    ///< the scores of the tile
  kPartials = 2,  ///< the softmax partials
  kBoth = 3,
};

/// Tiles of one column of tiles of a slice that one launch computes.
///
/// values       [tile][row of the tile][item of the tile]   padding is +0.0
/// row_sums     [block of the column][tile][row]            sum of A modulo 2^64
/// partials     [tile][row][block of the column]            of the items that exist
struct TileGroup {
  int tiles = 0;
  int tile_queries = 1;
  std::int64_t first_row[kGroupTiles] = {};  ///< row of the query batch
  int long_rows[kGroupTiles] = {};  ///< this many first rows in `order` go to the long-row kernel
  std::int64_t first_block = 0;     ///< of the slice
  std::int64_t blocks = 0;
  const double* query_scales = nullptr;  ///< of the batch
  const double* item_scales = nullptr;   ///< of the slice
  ExpScale exp_scale;
  float* values = nullptr;
  unsigned long long* row_sums = nullptr;
  SoftmaxPartial* partials = nullptr;

  BULKSIM_HOST_DEVICE std::int64_t place(std::int64_t block, int tile, int row) const {
    return (block * tiles + tile) * tile_queries + row;
  }
};

/// A row with more entries than this is shared by the warps of a block; the longest row left to one
/// warp then takes at most 512 x 32 steps, well below a thousandth of a launch.
inline constexpr std::int64_t kLongRow = 512;

/// Shared memory per warp: 1,024 sums and the 32 current lists.
inline constexpr std::int64_t kWarpSharedBytes = kBlockItems * 8 + 32 * 16;

/// Most warps per block of the score kernel, and warps per block that shares a long row.
inline constexpr int kMostWarps = 26;
inline constexpr int kMostLongRowWarps = 8;

/// Launch shape of the kernels on one device: one block per multiprocessor, as large as its shared
/// memory allows.
struct LaunchShape {
  int blocks = 1;
  int warps = 1;
  int long_row_warps = 1;

  static LaunchShape of(const Device& device);
};

/// Allows the kernels the shared memory of `shape`; call once per device and process.
void prepare_score_kernels(const LaunchShape& shape);

/// Computes the tiles of a group. `ticket` is device memory for one number. `group` contains the
/// numbers of long rows. All work is enqueued on `stream`.
void launch_scores(const QueryRows& queries, const ItemBlocks& items, const TileGroup& group,
                   Output output, const LaunchShape& shape, unsigned long long* ticket,
                   const Stream& stream);

}  // namespace bulksim::cuda
