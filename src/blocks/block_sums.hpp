#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blocks/fine_grid.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Fine blocks along one side of a coarse block.
inline constexpr std::int64_t kCoarseBlocks = 4;

/// Where the mass of the softmax of all query rows lies.
struct BlockSums {
  std::int64_t rows = 0;                ///< of fine blocks
  std::int64_t columns = 0;             ///< of fine blocks
  std::vector<double> fine;             ///< S(a,b), row-major
  std::vector<std::int64_t> live_rows;  ///< by row of fine blocks: query rows with values

  std::int64_t coarse_rows() const { return divide_up(rows, kCoarseBlocks); }
  std::int64_t coarse_columns() const { return divide_up(columns, kCoarseBlocks); }
  /// Each the sum of its fine blocks, row-major.
  std::vector<double> coarse() const;
  /// S(a,b) / live_rows(a), row-major: the shares of a row of blocks add up to 1.
  std::vector<double> share() const;
};

/// Makes block sums of the partials of all tiles, which may lie on several ranks, in three steps:
///
///   M(q)   = largest m of the row                               maximum over the ranks
///   Z(q)   = sum of rint(L e(m - M) 2^(k-30)) over its blocks   sum over the ranks
///   S(a,b) = sum of (L e(m - M)) 2^(k-30) / Z over the rows of the block, ascending
///
/// M and Z are integers and each S has one owner, so that no order and no number of ranks can
/// change a bit. k = 62 - ceil(log2 items) keeps Z within 63 bits.
class BlockSumBuilder {
 public:
  BlockSumBuilder(const TileGrid& tiles, double softmax_scale, float inverse_one);

  // Each step sees every tile of this rank once; `partials` are those of the whole tile. Between
  // two steps the numbers are reduced over the ranks.
  void find_maxima(TileId tile, std::span<const SoftmaxPartial> partials);
  std::span<std::int64_t> maxima() { return maxima_; }
  void add_weights(TileId tile, std::span<const SoftmaxPartial> partials);
  std::span<std::int64_t> weights() { return weights_; }
  void sum_blocks(TileId tile, std::span<const SoftmaxPartial> partials);
  /// S of the blocks of this rank, 0 elsewhere.
  std::span<double> fine() { return fine_; }

  /// The sums, once all steps are done.
  BlockSums finish() &&;

 private:
  /// Of a partial with values: L e(m - M) 2^(k-30).
  double weight(const SoftmaxPartial& partial, std::int64_t query) const;

  TileGrid tiles_;
  FineGrid blocks_;
  ExpScale scale_;
  float inverse_one_;
  double unit_;                        // 2^(k-30)
  std::vector<std::int64_t> maxima_;   // by query row
  std::vector<std::int64_t> weights_;  // by query row; 0: a row without values
  std::vector<double> fine_;
};

}  // namespace bulksim
