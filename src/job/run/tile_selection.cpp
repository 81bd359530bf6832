#include "job/run/tile_selection.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "blocks/fine_grid.hpp"
#include "comm/collective_error.hpp"
#include "core/text/format_text.hpp"
#include "job/blocks/block_reduction.hpp"
#include "job/input/antidiagonal_source.hpp"
#include "job/plan/output_layout.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/stream_tiles.hpp"

namespace bulksim {

namespace {

/// Keeps the partials of finished tiles.
class PartialStore final : public TileSink {
 public:
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  void read(TileId tile, std::span<SoftmaxPartial> to) const {
    const auto& partials = partials_.at(tile);
    std::copy(partials.begin(), partials.end(), to.begin());
  }

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(PartialStore& store) : store_(store) {}

    void begin(TileId tile) override {
      tile_ = tile;
      partials_.clear();
    }
    void write(const TileStripe& stripe) override {
      partials_.insert(partials_.end(), stripe.partials.begin(), stripe.partials.end());
    }
    void finish() override {
      const std::lock_guard lock(store_.mutex_);
      store_.partials_[tile_] = partials_;
    }

   private:
    PartialStore& store_;
    TileId tile_;
    std::vector<SoftmaxPartial> partials_;
  };

  std::mutex mutex_;
  std::map<TileId, std::vector<SoftmaxPartial>> partials_;
};

/// Rows of groups in a fine block of `size` rows, of which there are `blocks`.
std::int64_t groups_of_a_block(std::int64_t size, std::int64_t tile, std::int64_t blocks,
                               std::int64_t stride) {
  const bool even = size % stride == 0 && tile % size == 0;
  if (blocks > 1 && !even) {
    throw Error(ExitCode::kUsage, "fine blocks of " + std::to_string(size) +
                                      " rows are not a whole number of groups of --stride " +
                                      std::to_string(stride) +
                                      " rows (use another --stride or --tile)");
  }
  return divide_up(size, stride);
}

/// The run that computes the groups: block sums alone, one tile per fine block.
JobConfig config_of_groups(const JobConfig& config, const Plan& plan, std::int64_t stride) {
  const FineGrid fine(plan.grid);
  JobConfig groups = config;
  groups.mode = Mode::kBlocks;
  groups.block_sums = BlockSumsWanted::kOn;
  groups.filter.reset();
  groups.select.reset();
  groups.zero_rows = ZeroRows::kZero;
  groups.metric = Metric::kCosine;
  groups.chunk_rows.reset();
  groups.parts.reset();
  groups.tile = TileShape{
      groups_of_a_block(fine.block().queries, plan.grid.tile().queries, fine.rows(), stride),
      groups_of_a_block(fine.block().items, plan.grid.tile().items, fine.columns(), stride)};
  return groups;
}

/// The same blocks, in rows instead of groups.
BlockMap in_rows(BlockMap map, const Plan& plan, std::int64_t stride) {
  map.tile = plan.grid.tile();
  map.is_estimate = true;
  for (auto* sums : {&map.fine, &map.coarse}) {
    for (double& sum : *sums)
      sum *= static_cast<double>(stride);
  }
  for (std::int64_t& rows : map.live_rows)
    rows *= stride;
  return map;
}

/// Throws CollectiveError (65) when nothing is selected: all ranks have the same map.
void require_selection(const BlockMap& map, const Selection& selection) {
  const std::int64_t selected = std::count(map.mask.begin(), map.mask.end(), 1);
  if (selected > 0 || map.mask.empty()) return;
  const char* option = selection.by == SelectBy::kMass ? "--select-mass" : "--select-share";
  throw CollectiveError(
      ExitCode::kDataError,
      formatted("%s %g selects 0 of %ld blocks, so nothing would be computed: the largest share of "
                "a block is %.3g; choose a lower share, or --select-mass",
                option, selection.bound, std::ssize(map.mask), std::ranges::max(map.share)));
}

}  // namespace

BlockMap estimate_blocks(const JobConfig& config, const RunSetup& setup, std::int64_t stride,
                         JobContext context) {
  Communicator& comm = context.mpi.world();
  RunSetup groups;
  const std::int64_t columns = setup.plan.columns;
  JobConfig group_config;
  run_collectively(comm, [&] {
    if (columns > kMostColumns / stride) {
      throw Error(ExitCode::kUsage, std::to_string(columns) +
                                        " columns are too many for --stride " +
                                        std::to_string(stride) + " (at most " +
                                        std::to_string(kMostColumns / stride) + ")");
    }
    group_config = config_of_groups(config, setup.plan, stride);
    groups.inputs.queries = grouped(*setup.inputs.queries, columns, stride, GroupOrder::kReversed);
    groups.inputs.items = grouped(*setup.inputs.items, columns, stride, GroupOrder::kForward);
  });
  groups.surveys =
      survey_inputs(*groups.inputs.queries, *groups.inputs.items, Irregular::kAccept, comm);
  groups.resources = setup.resources;
  run_collectively(comm, [&] {
    groups.plan = make_plan(group_config, groups.surveys);
    groups.schedule = make_schedule(group_config, groups.plan, groups.surveys, groups.resources);
  });
  if (groups.plan.grid.count() == 0)
    return in_rows(empty_block_map(groups.plan), setup.plan, stride);
  const auto shares = share_all_tiles(groups, comm.size());
  const auto& tiles = shares[comm.rank()];
  PartialStore store;
  run_collectively(comm, [&] {
    RunSink sink(groups.plan, store, context);
    const auto backend = make_backend(groups);
    stream_tiles(groups, tiles, *backend, sink);
  });
  BlockMap map = reduce_block_sums(
      groups.plan, [&](TileId tile, std::span<SoftmaxPartial> to) { store.read(tile, to); }, tiles,
      comm);
  return in_rows(std::move(map), setup.plan, stride);
}

void select_tiles(const JobConfig& config, RunSetup& setup, JobContext context) {
  Plan& plan = setup.plan;
  BlockMap map = estimate_blocks(config, setup, plan.selection->stride, context);
  map.mask = select_blocks(map.share, plan.selection->blocks);
  require_selection(map, plan.selection->blocks);
  const FineGrid fine(plan.grid);
  setup.left_out.assign(plan.grid.count(), 1);
  for (std::int64_t block = 0; block < std::ssize(map.mask); ++block) {
    if (map.mask[block] == 0) continue;
    const TileId tile{block / map.columns / fine.rows_of_a_tile(),
                      block % map.columns / fine.columns_of_a_tile()};
    setup.left_out[plan.grid.number(tile)] = 0;
  }
  for (std::int64_t number = 0; number < plan.grid.count(); ++number) {
    if (setup.left_out[number] == 0) continue;
    const TileId tile = plan.grid.id(number);
    plan.nan_cells += plan.grid.queries(tile.row).size() * plan.grid.items(tile.column).size();
  }
  setup.estimate = std::move(map);
}

}  // namespace bulksim
