#include "bulksim/job/plan_job.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <ostream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bulksim/job/options.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "job/publication.hpp"
#include "job/run_report.hpp"
#include "job/run_setup.hpp"
#include "job/trial.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

/// Bytes of what else could be written for the same inputs, by option.
Json alternatives(const RunSetup& setup, std::int64_t full) {
  const MatrixShape shape = setup.plan.grid.shape();
  const std::int64_t cells = shape.queries * shape.items;
  // a shared column makes at most one cell nonzero
  const std::int64_t nonzero =
      std::min(cells, setup.surveys.items.work_of({0, setup.surveys.items.rows}));
  return {{"full", full}, {"nonzero_at_most", 8 * nonzero + 8 * (shape.queries + 1)}};
}

Json describe(const JobConfig& config, const RunSetup& setup, const Trial& trial,
              JobContext context) {
  const RunDirectory run(context.calls, config.output, setup.plan.id());
  const PartSet layout = make_layout(setup.plan, run);
  const std::int64_t bytes = output_bytes(layout.layouts);
  Json json;
  json["schema"] = 1;
  json["plan"] = Json::parse(setup.plan.to_json());
  json["plan_id"] = setup.plan.id().hex();
  json["tiles"] = setup.plan.grid.count();
  json["ranks"] = context.mpi.world().size();
  json["threads_per_rank"] = setup.resources.threads;
  json["chunk_rows"] = setup.schedule.chunk_columns * setup.plan.grid.tile().items;
  json["query_batch_rows"] =
      std::min(setup.schedule.query_batch_rows * setup.plan.grid.tile().queries,
               setup.plan.grid.shape().queries);
  json["memory"] = Json::object();
  for (const auto& [purpose, held] : setup.schedule.memory)
    json["memory"][purpose] = held;
  json["memory_peak"] = setup.schedule.memory_peak();
  json["memory_limit"] = setup.resources.memory;
  json["output_bytes"] = bytes;
  json["free_bytes"] =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  json["alternatives"] = alternatives(setup, bytes);
  json["expected_seconds"] = trial.seconds;
  json["expected_bytes_per_s"] = trial.bytes_per_s;
  json["rows"] = {{"zero_queries", setup.surveys.queries.counts.zero_rows},
                  {"zero_items", setup.surveys.items.counts.zero_rows},
                  {"unsorted", setup.surveys.queries.counts.unsorted_rows +
                                   setup.surveys.items.counts.unsorted_rows},
                  {"duplicates",
                   setup.surveys.queries.counts.duplicates + setup.surveys.items.counts.duplicates},
                  {"explicit_zeros", setup.surveys.queries.counts.explicit_zeros +
                                         setup.surveys.items.counts.explicit_zeros}};
  return json;
}

std::string bytes_in(const Json& json) {
  return bytes_text(json.get<std::int64_t>());
}

void print(const Json& json, std::ostream& out) {
  const Json& plan = json["plan"];
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", json["expected_seconds"].get<double>());
  out << "matrix    " << plan["queries"]["rows"] << " queries x " << plan["items"]["rows"]
      << " items, " << plan["columns"] << " columns\n"
      << "tiles     " << json["tiles"] << " of " << plan["tile"]["queries"] << " x "
      << plan["tile"]["items"] << " in " << plan["parts"].size() << " parts\n"
      << "error     every cosine within " << error_text(plan["error_bound"].get<double>())
      << " of the true one (grid 2^-" << plan["grid_bits"] << ")\n"
      << "rows      " << json["rows"]["zero_queries"] << " queries and "
      << json["rows"]["zero_items"] << " items without values, " << json["rows"]["unsorted"]
      << " unsorted, " << json["rows"]["duplicates"] << " duplicates, "
      << json["rows"]["explicit_zeros"] << " explicit zeros\n"
      << "ranks     " << json["ranks"] << " with " << json["threads_per_rank"]
      << " threads, chunks of " << json["chunk_rows"] << " items, " << json["query_batch_rows"]
      << " queries at once\n"
      << "memory    " << bytes_in(json["memory_peak"]) << " a rank, may use "
      << bytes_in(json["memory_limit"]) << '\n'
      << "output    " << bytes_in(json["output_bytes"]) << ", free " << bytes_in(json["free_bytes"])
      << "; nonzero cells alone at most " << bytes_in(json["alternatives"]["nonzero_at_most"])
      << '\n'
      << "time      about " << seconds << '\n';
}

/// Where inputs are imported to for a plan; rank 0 removes it at the end.
class ImportFolder {
 public:
  ImportFolder(const JobConfig& config, JobContext context) : context_(context) {
    Communicator& comm = context.mpi.world();
    path_ = broadcast_text(comm, existing_folder(context.calls, config.output) + "/.bulksim-plan-" +
                                     std::to_string(getpid()));
  }
  ~ImportFolder() {
    if (context_.mpi.world().rank() != 0) return;
    try {
      remove_tree(context_.calls, path_);
    } catch (const std::exception& error) {
      context_.log.warning("left_behind", error.what());
    }
  }
  ImportFolder(const ImportFolder&) = delete;
  ImportFolder& operator=(const ImportFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  JobContext context_;
  std::string path_;
};

}  // namespace

void run_plan(const JobConfig& config, PlanFormat format, JobContext context, std::ostream& out) {
  PhaseTimer timer(context.watchdog);
  const ImportFolder imports(config, context);
  const RunSetup setup = set_up_run(config, imports.path(), context, timer);
  timer.end();
  Trial trial = run_trial(config, setup, context);
  for (const auto& [phase, seconds] : timer.phases())
    trial.seconds += seconds;
  if (context.mpi.world().rank() != 0) return;
  const Json json = describe(config, setup, trial, context);
  if (format == PlanFormat::kJson) {
    out << json.dump(1) << '\n';
  } else {
    print(json, out);
  }
}

}  // namespace bulksim
