#include "job/blocks/block_reduction.hpp"

#include <span>
#include <utility>

#include "blocks/block_sums.hpp"
#include "comm/collective_error.hpp"
#include "core/run/stop_request.hpp"
#include "job/plan/output_layout.hpp"

namespace bulksim {

namespace {

/// Passes the partials of each tile to `step`; all ranks continue or fail together.
template <class Step>
void each_tile(const Plan& plan, const ReadPartials& read, const std::vector<std::int64_t>& tiles,
               Communicator& comm, const Step& step) {
  std::vector<SoftmaxPartial> partials(partials_per_tile(plan.grid));
  run_collectively(comm, [&] {
    for (const std::int64_t number : tiles) {
      kOnlySignals.check();
      const TileId tile = plan.grid.id(number);
      read(tile, partials);
      step(tile, std::span<const SoftmaxPartial>(partials));
    }
  });
}

}  // namespace

BlockMap reduce_block_sums(const Plan& plan, const ReadPartials& read,
                           const std::vector<std::int64_t>& tiles, Communicator& comm) {
  BlockSumBuilder builder(plan.grid, *plan.softmax_scale);
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.find_maxima(tile, some); });
  comm.all_reduce_max(builder.maxima());
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.add_weights(tile, some); });
  comm.all_reduce_sum(builder.weights());
  each_tile(plan, read, tiles, comm,
            [&](TileId tile, auto some) { builder.sum_blocks(tile, some); });
  comm.all_reduce_sum(builder.fine());  // one rank has each sum: the others add 0
  BlockSums sums = std::move(builder).finish();
  BlockMap map = empty_block_map(plan);
  map.coarse = sums.coarse();
  map.share = sums.share();
  map.fine = std::move(sums.fine);
  map.live_rows = std::move(sums.live_rows);
  return map;
}

}  // namespace bulksim
