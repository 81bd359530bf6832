#include "job/run_setup.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bulksim/formats/names.hpp"
#include "bulksim/job/agreement.hpp"
#include "bulksim/job/import_job.hpp"
#include "bulksim/job/row_reader.hpp"
#include "bulksim/job/tile_shares.hpp"
#include "job/block_estimate.hpp"
#include "job/row_names.hpp"

namespace bulksim {

namespace {

/// Paths that can be read by ranges of rows.
struct PreparedPaths {
  std::string queries;
  std::string items;
};

/// Rank 0 imports, everybody learns where it is.
PreparedPaths prepare_inputs(const JobConfig& config, const std::string& import_folder,
                             JobContext context) {
  Communicator& comm = context.mpi.world();
  PreparedPaths paths;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    const auto prepare = [&](const std::string& path, const std::string& ids) {
      const ImportOptions options{config.keys, config.irregular, "", ids};
      return prepare_input(context.calls, path, import_folder, options, context.log);
    };
    paths.items = prepare(config.items, config.item_ids);
    paths.queries =
        config.queries.empty() ? paths.items : prepare(config.queries, config.query_ids);
  });
  paths.items = broadcast_text(comm, paths.items);
  paths.queries = broadcast_text(comm, paths.queries);
  return paths;
}

SourcePair open_inputs(const JobConfig& config, const PreparedPaths& paths, JobContext context) {
  SourcePair inputs;
  together(context.mpi.world(), [&] {
    inputs.items = open_input(context.calls, paths.items, config.items, config.irregular);
    inputs.queries =
        open_input(context.calls, paths.queries, config.query_path(), config.irregular);
    std::optional<NamedVocabulary> vocabulary;
    if (!config.vocabulary.empty()) {
      vocabulary = {read_names(context.calls, config.vocabulary), config.vocabulary};
    }
    inputs = match_columns(std::move(inputs), vocabulary);
    inputs.items = stoppable(std::move(inputs.items), context.stop);
    inputs.queries = stoppable(std::move(inputs.queries), context.stop);
  });
  return inputs;
}

/// Rank 0 decides, everybody learns.
Plan agree_on_plan(const JobConfig& config, const SourcePair& inputs, Surveys& surveys,
                   JobContext context) {
  Communicator& comm = context.mpi.world();
  std::string text;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    survey_names(config, inputs, context.calls, surveys);
    text = make_plan(config, surveys).to_json();
  });
  return Plan::from_json(broadcast_text(comm, text));
}

/// Lets a backend finish with the queries before they go, however its work has ended.
template <class Backend>
class Finish {
 public:
  explicit Finish(Backend& backend) : backend_(backend) {}
  ~Finish() {
    try {
      backend_.drain();
    } catch (...) {
      // what went wrong is under way already
    }
  }
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;

 private:
  Backend& backend_;
};

/// `nan` hears of the rows that go by; it may be null.
template <class Backend, class Sink>
void stream_batches(const RunSetup& setup, const std::vector<std::int64_t>& tiles, Backend& backend,
                    Sink& sink, NanForZeroRows* nan) {
  const Plan& plan = setup.plan;
  RowReader query_reader(*setup.inputs.queries, setup.surveys.queries, plan.columns,
                         plan.arithmetic);
  RowReader item_reader(*setup.inputs.items, setup.surveys.items, plan.columns, plan.arithmetic);
  const std::int64_t batch_rows = setup.schedule.query_batch_rows;
  for (std::int64_t row = 0; row < plan.grid.rows(); row += batch_rows) {
    const RowRange batch{row, std::min(row + batch_rows, plan.grid.rows())};
    const auto chunks = make_chunks(tiles, plan.grid, batch, setup.schedule.chunk_columns);
    if (chunks.empty()) continue;
    QueryBatch queries;
    queries.range = {plan.grid.queries(batch.begin).begin, plan.grid.queries(batch.end - 1).end};
    queries.rows = query_reader.read(queries.range);
    if (nan != nullptr) nan->note_queries(queries.range, queries.rows);
    const Finish finish(backend);
    backend.set_queries(queries, sink);
    for (const ChunkTask& chunk : chunks) {
      UnitRows items = item_reader.read(chunk.items);
      if (nan != nullptr) nan->note_items(chunk.items, items);
      backend.submit({chunk.items, std::move(items), chunk.tiles, chunk.tiles_to_come});
    }
    backend.drain();
  }
}

}  // namespace

bool needs_import(const JobConfig& config, JobContext context) {
  bool imported = false;
  together(context.mpi.world(), [&] {
    for (const std::string& path : {config.items, config.query_path()}) {
      if (!is_read_by_ranges(format_of(context.calls, path))) imported = true;
    }
  });
  return imported;
}

RunSetup set_up_run(const JobConfig& config, const std::string& import_folder, JobContext context,
                    PhaseTimer& timer) {
  Communicator& comm = context.mpi.world();
  RunSetup setup;
  timer.begin("import");
  const PreparedPaths paths = prepare_inputs(config, import_folder, context);
  timer.begin("survey");
  setup.inputs = open_inputs(config, paths, context);
  setup.surveys = survey_inputs(*setup.inputs.queries, *setup.inputs.items, config.irregular, comm,
                                config.metric);
  timer.begin("plan");
  setup.plan = agree_on_plan(config, setup.inputs, setup.surveys, context);
  timer.begin("device");
  setup.devices = choose_devices(config, context);
  if (setup.plan.softmax_scale) connect_devices(setup.devices, context);
  setup.resources = survey_resources(config.threads, config.memory, comm);
  setup.resources.device = setup.devices.own;
  together(comm, [&] {
    setup.schedule = make_schedule(config, setup.plan, setup.surveys, setup.resources);
  });
  if (setup.plan.selection) {
    timer.begin("estimate");
    select_tiles(config, setup, context);
  }
  return setup;
}

RunSink::RunSink(const Plan& plan, TileSink& output, JobContext context)
    : guarded_(output, context) {
  if (plan.zero_rows == ZeroRows::kNan) nan_.emplace(plan.grid, guarded_);
}

TileSink& RunSink::entrance() {
  if (nan_) return *nan_;
  return guarded_;
}

void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, RunSink& sink) {
  stream_batches(setup, tiles, backend, sink.entrance(), sink.nan());
}

void stream_pairs(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  PairBackend& backend, PairSink& sink) {
  stream_batches(setup, tiles, backend, sink, nullptr);
}

std::vector<std::int64_t> tiles_of(const Plan& plan) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < plan.grid.count(); ++tile) {
    const TileId id = plan.grid.id(tile);
    if (plan.cut && !plan.cut->touches(plan.grid.queries(id.row), plan.grid.items(id.column))) {
      continue;
    }
    tiles.push_back(tile);
  }
  return tiles;
}

std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks) {
  return share_tiles(tiles_of(setup.plan), setup.plan, setup.surveys.items, ranks);
}

}  // namespace bulksim
