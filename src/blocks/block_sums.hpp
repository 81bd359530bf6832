#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blocks/fine_grid.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Fine blocks per side of a coarse block.
inline constexpr std::int64_t kCoarseBlocks = 4;

/// Distribution of the softmax mass of all query rows over blocks.
struct BlockSums {
  std::int64_t rows = 0;                ///< of fine blocks
  std::int64_t columns = 0;             ///< of fine blocks
  std::vector<double> fine;             ///< S(a,b), row-major
  std::vector<std::int64_t> live_rows;  ///< by row of fine blocks: query rows that are not empty

  std::int64_t coarse_rows() const { return divide_up(rows, kCoarseBlocks); }
  std::int64_t coarse_columns() const { return divide_up(columns, kCoarseBlocks); }
  /// Sums of the fine blocks in each coarse block, row-major.
  std::vector<double> coarse() const;
  /// S(a,b) / live_rows(a), row-major; the shares of a row of blocks add up to 1.
  std::vector<double> share() const;
};

/// Computes block sums from the softmax partials of all tiles, on one or more ranks, in three
/// steps:
///
///   M(q)   = largest m of the row                               maximum over the ranks
///   Z(q)   = sum of rint(L e(m - M) 2^(k-30)) over its blocks   sum over the ranks
///   S(a,b) = sum of (L e(m - M)) 2^(k-30) / Z over the rows of the block, ascending
///
/// M and Z are integers and each S has one owner, so that neither the order nor the number of ranks
/// changes a bit. k = 62 - ceil(log2 items) keeps Z within 63 bits.
class BlockSumBuilder {
 public:
  BlockSumBuilder(const TileGrid& tiles, double softmax_scale);

  // Each step is called once per tile of this rank, with the partials of the whole tile. Between
  // steps the results are reduced over the ranks.
  void find_maxima(TileId tile, std::span<const SoftmaxPartial> partials);
  std::span<std::int64_t> maxima() { return maxima_; }
  void add_weights(TileId tile, std::span<const SoftmaxPartial> partials);
  std::span<std::int64_t> weights() { return weights_; }
  void sum_blocks(TileId tile, std::span<const SoftmaxPartial> partials);
  /// S of the blocks of this rank; 0 elsewhere.
  std::span<double> fine() { return fine_; }

  /// The block sums, after all steps.
  BlockSums finish() &&;

 private:
  /// L e(m - M) 2^(k-30) for a partial with L > 0.
  double weight(const SoftmaxPartial& partial, std::int64_t query) const;

  TileGrid tiles_;
  FineGrid blocks_;
  ExpScale scale_;
  double unit_;                        // 2^(k-30)
  std::vector<std::int64_t> maxima_;   // by query row
  std::vector<std::int64_t> weights_;  // by query row; 0 for an empty row
  std::vector<double> fine_;
};

}  // namespace bulksim
