#include "bulksim/job/compute_job.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/job/agreement.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/job/progress.hpp"
#include "bulksim/job/row_reader.hpp"
#include "bulksim/job/schedule.hpp"
#include "bulksim/job/tile_output.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "bulksim/storage/tile_files.hpp"
#include "job/publication.hpp"
#include "job/run_report.hpp"

namespace bulksim {

namespace {

struct Inputs {
  std::unique_ptr<MatrixSource> queries;
  std::unique_ptr<MatrixSource> items;
};

Inputs open_inputs(const JobConfig& config, JobContext context) {
  Inputs inputs;
  together(context.mpi.world(), [&] {
    inputs.items = open_matrix(context.calls, config.items);
    inputs.queries = open_matrix(context.calls, config.query_path());
  });
  return inputs;
}

/// Rank 0 decides, everybody learns.
Plan agree_on_plan(const JobConfig& config, const Surveys& surveys, Communicator& comm) {
  std::string text;
  together(comm, [&] {
    if (comm.rank() == 0) text = make_plan(config, surveys).to_json();
  });
  return Plan::from_json(broadcast_text(comm, text));
}

void announce(const Plan& plan, const Surveys& surveys, const Schedule& schedule, Log& log) {
  const auto& counts = surveys.items.counts;
  log.info("plan",
           std::to_string(plan.grid.shape().queries) + " queries x " +
               std::to_string(plan.grid.shape().items) + " items, " + std::to_string(plan.columns) +
               " columns; " + std::to_string(plan.grid.count()) + " tiles of " +
               std::to_string(plan.grid.tile().queries) + " x " +
               std::to_string(plan.grid.tile().items) + " in " + std::to_string(plan.parts.size()) +
               " parts; every cosine within " + error_text(plan.error_bound) + " of the true one",
           {{"plan", plan.id().hex()}, {"tiles", plan.grid.count()}});
  const std::int64_t zero_rows = counts.zero_rows + surveys.queries.counts.zero_rows;
  if (zero_rows > 0) {
    log.info("zero_rows",
             std::to_string(surveys.queries.counts.zero_rows) + " queries and " +
                 std::to_string(counts.zero_rows) +
                 " items have no values: their cosines are 0, also with themselves",
             {{"queries", surveys.queries.counts.zero_rows}, {"items", counts.zero_rows}});
  }
  log.detail("memory", "a rank is expected to hold at most " + bytes_text(schedule.memory_peak()),
             {{"bytes", schedule.memory_peak()}});
}

/// Part files of the run, and where their tiles lie.
struct Layout {
  std::vector<std::string> paths;
  std::vector<PartLayout> parts;
};

Layout make_layout(const Plan& plan, const RunDirectory& run) {
  Layout layout;
  if (run.form() == OutputForm::kSingleFile) {
    layout.parts.push_back(plan_part(plan.grid, {0, plan.grid.columns()}, "similarity"));
  } else {
    for (const RowRange& columns : plan.parts) {
      layout.parts.push_back(plan_part(plan.grid, columns, "tiles"));
    }
  }
  for (std::size_t part = 0; part < layout.parts.size(); ++part) {
    layout.paths.push_back(run.part_path(part));
  }
  return layout;
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

/// Reads, computes, checks and writes the tiles of this rank. Reading the next chunk, computing two
/// and writing finished stripes go on side by side.
void stream_tiles(const Plan& plan, const Surveys& surveys, const Schedule& schedule,
                  const Inputs& inputs, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, TileSink& output) {
  RowReader query_reader(*inputs.queries, surveys.queries, plan.columns, plan.arithmetic);
  RowReader item_reader(*inputs.items, surveys.items, plan.columns, plan.arithmetic);
  for (std::int64_t row = 0; row < plan.grid.rows(); row += schedule.query_batch_rows) {
    const RowRange batch{row, std::min(row + schedule.query_batch_rows, plan.grid.rows())};
    const auto chunks = make_chunks(tiles, plan.grid, batch, schedule.chunk_columns);
    if (chunks.empty()) continue;
    QueryBatch queries;
    queries.range = {plan.grid.queries(batch.begin).begin, plan.grid.queries(batch.end - 1).end};
    queries.rows = query_reader.read(queries.range);
    backend.set_queries(queries, output);
    for (const ChunkTask& chunk : chunks) {
      backend.submit({chunk.items, item_reader.read(chunk.items), chunk.tiles});
    }
    backend.drain();
  }
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

}  // namespace

std::string run_compute(const JobConfig& config, JobContext context) {
  Communicator& comm = context.mpi.world();
  PhaseTimer timer;
  timer.begin("survey");
  const Inputs inputs = open_inputs(config, context);
  const Surveys surveys = survey_inputs(*inputs.queries, *inputs.items, config.irregular, comm);

  timer.begin("plan");
  const Plan plan = agree_on_plan(config, surveys, comm);
  const RankResources resources = survey_resources(config.threads, config.memory, comm);
  Schedule schedule;
  together(comm, [&] { schedule = make_schedule(config, plan, surveys, resources); });
  announce(plan, surveys, schedule, context.log);

  timer.begin("lay out");
  RunDirectory run(context.calls, config.output, plan.id());
  const Layout layout = make_layout(plan, run);
  lay_out(config, plan, layout, run, context);
  std::vector<std::int64_t> to_do(static_cast<std::size_t>(plan.grid.count()));
  std::iota(to_do.begin(), to_do.end(), std::int64_t{0});
  const auto shares = share_tiles(to_do, plan, surveys.items, comm.size());
  const auto& tiles = shares[static_cast<std::size_t>(comm.rank())];

  timer.begin("compute");
  RunReport report;
  TileFiles files(context.calls, plan.grid, layout.paths, layout.parts, TileAccess::kReadWrite);
  std::vector<Digest> digests;
  {
    Progress progress(context.log, static_cast<std::int64_t>(tiles.size()),
                      output_bytes(layout.parts));
    TileOutput output(plan.grid, files, progress);
    const auto backend = make_cpu_backend({plan.grid, plan.arithmetic, resources.threads});
    stream_tiles(plan, surveys, schedule, inputs, tiles, *backend, output);
    report.backend = backend->description();
    report.recomputed_tiles = backend->recomputed_tiles();
    digests = output.digests();
  }

  timer.begin("sync");
  files.sync();
  digests = gather_digests(tiles, digests, shares, comm);

  timer.begin("publish");
  report.collect(config, plan, surveys, schedule, resources, layout.parts, context.mpi);
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
