#include "job/run_setup.hpp"

#include <algorithm>
#include <numeric>

#include "bulksim/job/agreement.hpp"
#include "bulksim/job/row_reader.hpp"
#include "job/guarded_work.hpp"

namespace bulksim {

namespace {

Inputs open_inputs(const JobConfig& config, JobContext context) {
  Inputs inputs;
  together(context.mpi.world(), [&] {
    inputs.items = stoppable(open_matrix(context.calls, config.items), context.stop);
    inputs.queries = stoppable(open_matrix(context.calls, config.query_path()), context.stop);
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

}  // namespace

RunSetup set_up_run(const JobConfig& config, JobContext context, PhaseTimer& timer) {
  Communicator& comm = context.mpi.world();
  RunSetup setup;
  timer.begin("survey");
  setup.inputs = open_inputs(config, context);
  setup.surveys = survey_inputs(*setup.inputs.queries, *setup.inputs.items, config.irregular, comm);
  timer.begin("plan");
  setup.plan = agree_on_plan(config, setup.surveys, comm);
  setup.resources = survey_resources(config.threads, config.memory, comm);
  together(comm, [&] {
    setup.schedule = make_schedule(config, setup.plan, setup.surveys, setup.resources);
  });
  return setup;
}

void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, TileSink& output, JobContext context) {
  const Plan& plan = setup.plan;
  RowReader query_reader(*setup.inputs.queries, setup.surveys.queries, plan.columns,
                         plan.arithmetic);
  RowReader item_reader(*setup.inputs.items, setup.surveys.items, plan.columns, plan.arithmetic);
  GuardedSink guarded(output, context);
  const std::int64_t batch_rows = setup.schedule.query_batch_rows;
  for (std::int64_t row = 0; row < plan.grid.rows(); row += batch_rows) {
    const RowRange batch{row, std::min(row + batch_rows, plan.grid.rows())};
    const auto chunks = make_chunks(tiles, plan.grid, batch, setup.schedule.chunk_columns);
    if (chunks.empty()) continue;
    QueryBatch queries;
    queries.range = {plan.grid.queries(batch.begin).begin, plan.grid.queries(batch.end - 1).end};
    queries.rows = query_reader.read(queries.range);
    backend.set_queries(queries, guarded);
    for (const ChunkTask& chunk : chunks) {
      backend.submit({chunk.items, item_reader.read(chunk.items), chunk.tiles});
    }
    backend.drain();
  }
}

std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks) {
  std::vector<std::int64_t> to_do(static_cast<std::size_t>(setup.plan.grid.count()));
  std::iota(to_do.begin(), to_do.end(), std::int64_t{0});
  return share_tiles(to_do, setup.plan, setup.surveys.items, ranks);
}

}  // namespace bulksim
