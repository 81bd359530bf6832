#include "job/run/compute_tiles.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "blocks/fine_grid.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/stream_tiles.hpp"
#include "job/sinks/progress.hpp"
#include "job/sinks/tile_output.hpp"
#include "storage/parts/run_files.hpp"
#include "storage/run/journal.hpp"
#include "storage/run/tile_log.hpp"

namespace bulksim {

namespace {

/// Bytes of a tile on disk.
std::int64_t bytes_of_a_tile(const TileTask& work) {
  const TileGrid& grid = work.setup.plan.grid;
  return (work.parts.has_matrix() ? work.parts.layouts.front().tile_bytes : 0) +
         (work.parts.has_partials() ? partial_section_bytes(grid) : 0);
}

/// Writes tiles that are not selected, with NaN in every cell.
void write_nan(const TileGrid& grid, const std::vector<std::int64_t>& tiles, TileSink& sink) {
  const auto writer = sink.make_writer();
  const TileShape shape = grid.tile();
  std::vector<float> values(shape.cells());
  for (const std::int64_t number : tiles) {
    const TileId tile = grid.id(number);
    std::ranges::fill(values, 0.0F);
    for (std::int64_t row = 0; row < grid.queries(tile.row).size(); ++row) {
      std::fill_n(values.begin() + row * shape.items, grid.items(tile.column).size(),
                  std::numeric_limits<float>::quiet_NaN());
    }
    writer->begin(tile);
    writer->write({tile, 0, shape.queries, values});
    writer->finish();
  }
}

/// False when it ended at a tile border because a stop was requested.
bool streamed_all(const TileTask& work, SimilarityBackend& backend, RunSink& sink) {
  std::vector<std::int64_t> selected;
  std::vector<std::int64_t> others;
  for (const std::int64_t tile : work.tiles) {
    const bool is_left_out = !work.setup.left_out.empty() && work.setup.left_out[tile] == 1;
    (is_left_out ? others : selected).push_back(tile);
  }
  try {
    stream_tiles(work.setup, selected, backend, sink);
    if (!others.empty()) write_nan(work.setup.plan.grid, others, sink.entrance());
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

TileOutcome compute(const TileTask& work, RunFiles& files, TileLog* log, JobContext context) {
  const Plan& plan = work.setup.plan;
  TileOutput::Options options{.log = log, .before_tile = work.before_tile, .type = plan.value_type};
  if (work.config.guard == Guard::kOn) options.most = largest_score(plan.arithmetic.metric);
  Progress progress(context.log, std::ssize(work.tiles), bytes_of_a_tile(work) * work.all_tiles);
  TileOutput output(plan.grid, files, progress, std::move(options));
  RunSink sink(plan, output, context);
  const auto backend = make_backend(work.setup);
  TileOutcome outcome;
  outcome.stopped = !streamed_all(work, *backend, sink);
  outcome.backend = backend->description();
  outcome.recomputed_tiles = backend->recomputed_tiles();
  outcome.zero_tiles = output.zero_tiles();
  outcome.digests = output.digests();
  outcome.outside = output.outside();
  outcome.done = progress.done();
  return outcome;
}

}  // namespace

TileOutcome compute_tiles(const TileTask& work, PhaseTimer& timer, JobContext context) {
  const Plan& plan = work.setup.plan;
  RunFiles files(context.calls, plan.grid, work.parts, TileAccess::kReadWrite);
  if (work.config.durability == Durability::kOff || work.tiles.empty()) {
    return compute(work, files, nullptr, context);
  }
  Journal journal(context.calls, work.journal,
                  {plan.id(), work.attempt, context.mpi.world().rank()});
  TileLog log(journal, files, bytes_of_a_tile(work), work.config.commit);
  TileOutcome outcome = compute(work, files, &log, context);
  timer.begin("sync");
  log.finish();
  return outcome;
}

}  // namespace bulksim
