#include "bulksim/job/compute_job.hpp"

#include <array>
#include <string>
#include <vector>

#include "bulksim/core/phase_timer.hpp"
#include "bulksim/job/agreement.hpp"
#include "bulksim/job/progress.hpp"
#include "bulksim/job/tile_output.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "bulksim/storage/tile_files.hpp"
#include "job/publication.hpp"
#include "job/run_report.hpp"
#include "job/run_setup.hpp"
#include "job/trial.hpp"

namespace bulksim {

namespace {

void announce(const RunSetup& setup, Log& log) {
  const Plan& plan = setup.plan;
  const std::int64_t zero_queries = setup.surveys.queries.counts.zero_rows;
  const std::int64_t zero_items = setup.surveys.items.counts.zero_rows;
  log.info("plan",
           std::to_string(plan.grid.shape().queries) + " queries x " +
               std::to_string(plan.grid.shape().items) + " items, " + std::to_string(plan.columns) +
               " columns; " + std::to_string(plan.grid.count()) + " tiles of " +
               std::to_string(plan.grid.tile().queries) + " x " +
               std::to_string(plan.grid.tile().items) + " in " + std::to_string(plan.parts.size()) +
               " parts; every cosine within " + error_text(plan.error_bound) + " of the true one",
           {{"plan", plan.id().hex()}, {"tiles", plan.grid.count()}});
  if (zero_queries + zero_items > 0) {
    log.info("zero_rows",
             std::to_string(zero_queries) + " queries and " + std::to_string(zero_items) +
                 " items have no values: their cosines are 0, also with themselves",
             {{"queries", zero_queries}, {"items", zero_items}});
  }
  log.detail("memory",
             "a rank is expected to hold at most " + bytes_text(setup.schedule.memory_peak()),
             {{"bytes", setup.schedule.memory_peak()}});
}

/// A trial costs a second: below this, a run does not take many more.
constexpr std::int64_t kWorthATrial = std::int64_t{8} << 30;

void announce_time(const JobConfig& config, const RunSetup& setup, const Layout& layout,
                   JobContext context) {
  if (output_bytes(layout.parts) < kWorthATrial) return;
  const Trial trial = run_trial(config, setup, context);
  context.log.info("expected_time", "this will take about " + duration_text(trial.seconds),
                   {{"seconds", trial.seconds}});
}

/// The output folder, the staging folder and every part, made by rank 0 before the first tile.
void lay_out(const JobConfig& config, const Plan& plan, const Layout& layout, RunDirectory& run,
             JobContext context) {
  together(context.mpi.world(), [&] {
    if (context.mpi.world().rank() != 0) return;
    check_output_size(config, plan, layout.parts, context);
    run.prepare(plan.to_json());
    if (lay_out_parts(context.calls, plan.grid, layout.paths, layout.parts) ==
        Reservation::kNotSupported) {
      context.log.warning("no_reservation",
                          "the file system of '" + config.output +
                              "' cannot reserve space, so a full disk is only seen while writing");
    }
  });
}

/// The digests of all tiles by number, at rank 0.
std::vector<Digest> gather_digests(const std::vector<std::int64_t>& tiles,
                                   const std::vector<Digest>& digests,
                                   const std::vector<std::vector<std::int64_t>>& shares,
                                   Communicator& comm) {
  std::vector<Digest> mine;
  for (const std::int64_t tile : tiles)
    mine.push_back(digests[static_cast<std::size_t>(tile)]);
  const auto gathered = comm.gather(bytes_of(mine));
  std::vector<Digest> all(gathered.empty() ? 0 : digests.size());
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    const auto* of_rank = reinterpret_cast<const Digest*>(gathered[rank].data());
    for (std::size_t at = 0; at < shares[rank].size(); ++at) {
      all[static_cast<std::size_t>(shares[rank][at])] = of_rank[at];
    }
  }
  return all;
}

/// False when the tiles were left at a border, because a stop was requested.
bool streamed_all(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, TileSink& output, JobContext context) {
  try {
    stream_tiles(setup, tiles, backend, output, context);
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

/// Ends all ranks alike when any has stopped. `done` are the tiles of this rank.
void end_if_stopped(bool stopped, std::int64_t done, std::int64_t tiles, JobContext context) {
  std::array<std::int64_t, 2> sums{stopped ? 1 : 0, done};
  context.mpi.world().all_reduce_sum(sums);
  if (sums[0] == 0) return;
  const std::string reason = context.stop.reason();
  throw AgreedError(ExitCode::kTemporary, "stopped at " + std::to_string(100 * sums[1] / tiles) +
                                              " %" + (reason.empty() ? "" : " after " + reason) +
                                              "; run the same command to go on");
}

}  // namespace

std::string run_compute(const JobConfig& config, JobContext context) {
  Communicator& comm = context.mpi.world();
  PhaseTimer timer;
  const RunSetup setup = set_up_run(config, context, timer);
  const Plan& plan = setup.plan;
  announce(setup, context.log);

  timer.begin("lay out");
  RunDirectory run(context.calls, config.output, plan.id());
  const Layout layout = make_layout(plan, run);
  announce_time(config, setup, layout, context);
  lay_out(config, plan, layout, run, context);
  const auto shares = share_all_tiles(setup, comm.size());
  const auto& tiles = shares[static_cast<std::size_t>(comm.rank())];

  timer.begin("compute");
  RunReport report;
  TileFiles files(context.calls, plan.grid, layout.paths, layout.parts, TileAccess::kReadWrite);
  std::vector<Digest> digests;
  bool stopped = false;
  std::int64_t done = 0;
  {
    Progress progress(context.log, static_cast<std::int64_t>(tiles.size()),
                      output_bytes(layout.parts));
    TileOutput output(plan.grid, files, progress);
    const auto backend = make_cpu_backend({plan.grid, plan.arithmetic, setup.resources.threads});
    stopped = !streamed_all(setup, tiles, *backend, output, context);
    report.backend = backend->description();
    report.recomputed_tiles = backend->recomputed_tiles();
    digests = output.digests();
    done = progress.done();
  }

  timer.begin("sync");
  files.sync();
  comm.wait_for_all();
  end_if_stopped(stopped, done, plan.grid.count(), context);
  digests = gather_digests(tiles, digests, shares, comm);

  timer.begin("publish");
  report.collect(config, setup, layout.parts, context.mpi);
  std::string result;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    timer.end();
    result = publish(run, plan, layout.parts, digests, report.to_json(timer), context.calls);
  });
  if (comm.rank() == 0) report.summarize(timer, result, context.log);
  return result;
}

}  // namespace bulksim
