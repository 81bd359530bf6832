#include "job/block_reduction.hpp"

#include <span>
#include <utility>

#include "bulksim/blocks/block_sums.hpp"
#include "bulksim/job/agreement.hpp"

namespace bulksim {

namespace {

/// Gives the terms of each tile to a step; all ranks go on or fail together.
template <class Step>
void each_tile(const Plan& plan, const ReadTerms& read, const std::vector<std::int64_t>& tiles,
               Communicator& comm, const Step& step) {
  std::vector<BlockTerm> terms(static_cast<std::size_t>(terms_of_a_tile(plan.grid)));
  together(comm, [&] {
    for (const std::int64_t number : tiles) {
      const TileId tile = plan.grid.id(number);
      read(tile, terms);
      step(tile, std::span<const BlockTerm>(terms));
    }
  });
}

}  // namespace

std::int64_t block_sum_bytes(const Plan& plan, int threads) {
  constexpr std::int64_t kRowBytes = 16;
  constexpr std::int64_t kBlockBytes = 40;
  const FineGrid fine(plan.grid);
  return kRowBytes * plan.grid.shape().queries + kBlockBytes * fine.rows() * fine.columns() +
         2 * threads * terms_of_a_tile(plan.grid) * std::int64_t{sizeof(BlockTerm)};
}

BlockMap empty_block_map(const Plan& plan) {
  const FineGrid fine(plan.grid);
  BlockMap map;
  map.softmax_scale = plan.softmax_scale.value_or(0.0);
  map.tile = plan.grid.tile();
  map.rows = fine.rows();
  map.columns = fine.columns();
  map.coarse_rows = divide_up(map.rows, kCoarseBlocks);
  map.coarse_columns = divide_up(map.columns, kCoarseBlocks);
  const auto blocks = static_cast<std::size_t>(map.rows * map.columns);
  map.fine.resize(blocks);
  map.coarse.resize(static_cast<std::size_t>(map.coarse_rows * map.coarse_columns));
  map.share.resize(blocks);
  map.live_rows.resize(static_cast<std::size_t>(map.rows));
  map.mask.resize(blocks, 1);
  return map;
}

BlockMap reduce_block_sums(const Plan& plan, const ReadTerms& read,
                           const std::vector<std::int64_t>& tiles, Communicator& comm) {
  BlockSumBuilder builder(plan.grid, *plan.softmax_scale, inverse_one(plan.arithmetic));
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.find_maxima(tile, some); });
  comm.all_reduce_max(builder.maxima());
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.add_weights(tile, some); });
  comm.all_reduce_sum(builder.weights());
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.sum_blocks(tile, some); });
  comm.all_reduce_sum(builder.fine());  // each sum has one rank: the others add 0
  BlockSums sums = std::move(builder).finish();
  BlockMap map = empty_block_map(plan);
  map.coarse = sums.coarse();
  map.share = sums.share();
  map.fine = std::move(sums.fine);
  map.live_rows = std::move(sums.live_rows);
  return map;
}

}  // namespace bulksim
