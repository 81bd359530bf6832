#include "job/run/prepare_run.hpp"

#include <optional>
#include <utility>

#include "comm/collective_error.hpp"
#include "core/files/stoppable_calls.hpp"
#include "core/text/format_text.hpp"
#include "formats/format_table.hpp"
#include "formats/shared/text_lines.hpp"
#include "job/input/guarded_source.hpp"
#include "job/input/open_input.hpp"
#include "job/input/row_ids.hpp"
#include "job/plan/error_bound.hpp"
#include "job/run/tile_selection.hpp"

namespace bulksim {

namespace {

/// Paths that can be read by ranges of rows.
struct PreparedPaths {
  std::string queries;
  std::string items;
};

/// Rank 0 imports, and all ranks get the path.
PreparedPaths prepare_inputs(const JobConfig& config, const std::string& import_folder,
                             JobContext context) {
  Communicator& comm = context.mpi.world();
  PreparedPaths paths;
  run_collectively(comm, [&] {
    if (comm.rank() != 0) return;
    const auto prepare = [&](const std::string& path, const std::string& ids) {
      const ImportOptions options{config.keys, config.irregular, "",
                                  ids,         config.memory,    context.stop};
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

SourcePair open_inputs(const JobConfig& config, const PreparedPaths& paths, std::int64_t memory,
                       JobContext context) {
  SourcePair inputs;
  run_collectively(context.mpi.world(), [&] {
    inputs.items = open_input(context.calls, paths.items, config.items, config.irregular);
    inputs.queries =
        open_input(context.calls, paths.queries, config.query_path(), config.irregular);
    std::optional<NamedVocabulary> vocabulary;
    if (!config.vocabulary.empty()) {
      StoppableCalls calls(context.calls, context.stop);
      vocabulary = {read_lines(calls, config.vocabulary), config.vocabulary};
    }
    inputs = match_columns(std::move(inputs), vocabulary);
    inputs.items = guarded(std::move(inputs.items), context.stop, memory);
    inputs.queries = guarded(std::move(inputs.queries), context.stop, memory);
  });
  return inputs;
}

/// Rank 0 decides for all ranks.
Plan agree_on_plan(const JobConfig& config, const SourcePair& inputs, Surveys& surveys,
                   JobContext context) {
  Communicator& comm = context.mpi.world();
  std::string text;
  run_collectively(comm, [&] {
    if (comm.rank() != 0) return;
    StoppableCalls calls(context.calls, context.stop);
    surveys.items.ids = survey_ids(calls, *inputs.items, config.item_ids);
    surveys.queries.ids = config.queries.empty()
                              ? surveys.items.ids
                              : survey_ids(calls, *inputs.queries, config.query_ids);
    text = make_plan(config, surveys).to_json();
  });
  return Plan::from_json(broadcast_text(comm, text));
}

/// Logs the irregularities that were removed from the inputs.
void log_irregular(const RunSetup& setup, Log& log) {
  const CanonicalizationCounts counts = setup.counts();
  if (counts.all_canonical()) return;
  log.info("irregular", "irregular rows were made canonical: " + counts.text(),
           {{"unsorted_rows", counts.unsorted_rows},
            {"duplicates", counts.duplicates},
            {"explicit_zeros", counts.explicit_zeros}});
}

/// Logs which stores had to be read for what newer ones carry.
void log_old_stores(const SourcePair& inputs, Log& log) {
  std::string before;
  for (const MatrixSource* source : {inputs.queries.get(), inputs.items.get()}) {
    const std::string& path = source->info().path;
    if (source->survey() == nullptr || source->survey()->rounding || path == before) continue;
    before = path;
    log.info("old_store",
             "'" + path +
                 "' was written by an older version and does not record how many of its "
                 "rows are exact: they were surveyed again; import it again to avoid this");
  }
}

/// Warns of bounds that no score can pass.
void warn_of_empty_range(const Plan& plan, Log& log) {
  if (!plan.filter) return;
  const float most = largest_score(plan.arithmetic.metric);
  const auto [at_least, below] = std::pair(plan.filter->at_least, plan.filter->below);
  std::string reason;
  if (at_least > most) {
    reason = formatted("no cosine is larger than 1, and --threshold is %.9g", double{at_least});
  } else if (below <= -most) {
    reason = formatted("no cosine is smaller than -1, and --below is %.9g", double{below});
  } else if (at_least >= below) {
    reason = formatted("no score is at least --threshold %.9g and below --below %.9g",
                       double{at_least}, double{below});
  }
  if (!reason.empty()) log.warning("no_pairs", "the result will be empty: " + reason);
}

void log_devices(const std::vector<std::string>& devices, Log& log) {
  if (devices.empty()) return;
  const std::string others =
      devices.size() == 1 ? ""
                          : "; " + std::to_string(devices.size()) + " ranks with one device each";
  log.info("backend", "computing on " + devices.front() + others,
           {{"backend", "cuda"}, {"device", devices.front()}});
}

}  // namespace

bool RunSetup::rows_serve_both_sides() const {
  return is_self_join && !resources.device && schedule.query_batch_rows >= plan.grid.rows();
}

CanonicalizationCounts RunSetup::counts() const {
  CanonicalizationCounts sum = surveys.items.counts;
  if (!is_self_join) sum += surveys.queries.counts;
  return sum;
}

std::string RunSetup::rows_text(std::int64_t queries, std::int64_t items) const {
  if (is_self_join) return std::to_string(items) + " rows";
  return std::to_string(queries) + " queries and " + std::to_string(items) + " items";
}

bool needs_import(const JobConfig& config, JobContext context) {
  bool imported = false;
  run_collectively(context.mpi.world(), [&] {
    for (const std::string& path : {config.items, config.query_path()}) {
      if (!format_of(context.calls, path).is_read_by_ranges()) imported = true;
    }
  });
  return imported;
}

RunSetup set_up_run(const JobConfig& config, const std::string& import_folder, JobContext context,
                    PhaseTimer& timer) {
  Communicator& comm = context.mpi.world();
  RunSetup setup;
  setup.is_self_join = config.queries.empty();
  timer.begin("import");
  const PreparedPaths paths = prepare_inputs(config, import_folder, context);
  timer.begin("survey");
  const std::int64_t memory = survey_resources(config.threads, config.memory, comm).memory;
  setup.inputs = open_inputs(config, paths, memory, context);
  setup.surveys = survey_inputs(*setup.inputs.queries, *setup.inputs.items, config.irregular, comm,
                                config.metric);
  timer.begin("plan");
  setup.plan = agree_on_plan(config, setup.inputs, setup.surveys, context);
  if (comm.rank() == 0) warn_of_empty_range(setup.plan, context.log);
  timer.begin("device");
  setup.devices = choose_devices(config, context);
  if (setup.plan.softmax_scale) connect_devices(setup.devices, context);
  setup.resources = survey_resources(config.threads, config.memory, comm);
  setup.resources.device = setup.devices.own;
  run_collectively(comm, [&] {
    setup.schedule = make_schedule(config, setup.plan, setup.surveys, setup.resources);
  });
  if (setup.plan.selection) {
    timer.begin("estimate");
    select_tiles(config, setup, context);
  }
  return setup;
}

void log_plan(const RunSetup& setup, Log& log) {
  const Plan& plan = setup.plan;
  const std::int64_t zero_queries = setup.surveys.queries.counts.zero_rows;
  const std::int64_t zero_items = setup.surveys.items.counts.zero_rows;
  log.info("plan",
           std::to_string(plan.grid.shape().queries) + " queries x " +
               std::to_string(plan.grid.shape().items) + " items, " + std::to_string(plan.columns) +
               " columns; " + std::to_string(plan.grid.count()) + " tiles of " +
               std::to_string(plan.grid.tile().queries) + " x " +
               std::to_string(plan.grid.tile().items) + " in " + std::to_string(plan.parts.size()) +
               " parts; every " +
               (plan.arithmetic.metric == Metric::kDot ? "dot product" : "cosine") + " within " +
               error_text(plan.error_bound) + " of the true one",
           {{"plan", plan.id().hex()}, {"tiles", plan.grid.count()}});
  if (zero_queries + zero_items > 0) {
    log.info(
        "zero_rows",
        setup.rows_text(zero_queries, zero_items) + " are empty: their scores are " +
            (plan.zero_rows == ZeroRows::kNan ? "NaN (" + std::to_string(plan.nan_cells) + " cells)"
                                              : "0, also with themselves"),
        {{"queries", zero_queries}, {"items", zero_items}, {"nan_cells", plan.nan_cells}});
  }
  log_irregular(setup, log);
  log_old_stores(setup.inputs, log);
  log_devices(setup.devices.all, log);
  log.detail(
      "memory",
      "the expected peak memory per rank is at most " + bytes_text(setup.schedule.memory_peak()),
      {{"bytes", setup.schedule.memory_peak()}});
}

}  // namespace bulksim
