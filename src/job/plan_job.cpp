#include "job/plan_job.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/text/format_text.hpp"
#include "job/plan/error_bound.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/plan_folder.hpp"
#include "job/publish/pair_publication.hpp"
#include "job/publish/publication.hpp"
#include "job/run/pilot_run.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/run_report.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPlannedTopK = 100;

std::int64_t padded_cells(const TileGrid& grid) {
  return grid.count() * grid.tile().cells();
}

std::int64_t cells_of(const Plan& plan) {
  return plan.grid.shape().queries * plan.grid.shape().items;
}

/// A shared column makes at most one cell nonzero.
std::int64_t most_nonzero(const RunSetup& setup) {
  return std::min(cells_of(setup.plan), setup.surveys.items.work_of({0, setup.surveys.items.rows}));
}

/// Bytes of the pairs of a plan, when as many pass as can.
std::int64_t most_pair_bytes(const RunSetup& setup) {
  const PairFilterSpec& filter = *setup.plan.filter;
  const std::int64_t queries = setup.plan.grid.shape().queries;
  const bool is_nonzero = filter.nonzero_only || filter.at_least > 0.0f || filter.below <= 0.0f;
  std::int64_t pairs = is_nonzero ? most_nonzero(setup) : cells_of(setup.plan);
  if (filter.keep != Keep::kAll) pairs = std::min(pairs, queries * filter.count);
  return pair_result_bytes(setup.plan, std::vector(static_cast<std::size_t>(queries) + 1, pairs));
}

/// Bytes of what else could be written for the same inputs, by option.
Json alternatives(const RunSetup& setup, std::int64_t full) {
  const MatrixShape shape = setup.plan.grid.shape();
  const std::int64_t nonzero = most_nonzero(setup);
  const std::int64_t index = shape.items < (std::int64_t{1} << 31) ? 4 : 8;
  return {{"full", full},
          {"float16", full - (bytes_of(setup.plan.value_type) - 2) * padded_cells(setup.plan.grid)},
          {"nonzero_at_most", (index + 4) * nonzero + 8 * (shape.queries + 1)},
          {"top_k_100", (8 + 4) * kPlannedTopK * shape.queries}};
}

Json describe(const JobConfig& config, const RunSetup& setup, const Trial& trial,
              const PlanFolder& folder, JobContext context) {
  const RunDirectory run(context.calls, config.output, setup.plan.id());
  const std::int64_t bytes = setup.plan.filter
                                 ? most_pair_bytes(setup)
                                 : result_bytes(setup.plan, make_layout(setup.plan, run),
                                                run.form(), context.calls, folder.path());
  const std::int64_t full = setup.plan.has_matrix()
                                ? bytes
                                : padded_cells(setup.plan.grid) * bytes_of(setup.plan.value_type);
  Json json;
  json["schema"] = 1;
  json["plan"] = Json::parse(setup.plan.to_json());
  json["plan_id"] = setup.plan.id().hex();
  json["tiles"] = setup.plan.grid.count();
  json["ranks"] = context.mpi.world().size();
  json["threads_per_rank"] = setup.resources.threads;
  json["backend"] = setup.resources.device ? "cuda" : "cpu";
  json["devices"] = setup.devices.all;
  json["chunk_limit"] = setup.schedule.chunk_limit;
  json["chunk_rows"] = setup.schedule.chunk_columns * setup.plan.grid.tile().items;
  json["chunks_in_flight"] = setup.schedule.chunks_in_flight;
  json["query_batch_rows"] =
      std::min(setup.schedule.query_batch_rows * setup.plan.grid.tile().queries,
               setup.plan.grid.shape().queries);
  json["query_batch_limit"] = setup.schedule.query_limit;
  json["memory"] = Json::object();
  for (const auto& [purpose, held] : setup.schedule.memory)
    json["memory"][purpose] = held;
  json["memory_peak"] = setup.schedule.memory_peak();
  json["memory_limit"] = setup.resources.memory;
  json["output_bytes"] = bytes;
  json["output_is_most"] = setup.plan.filter && setup.plan.filter->keep != Keep::kBest;
  json["free_bytes"] =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  json["alternatives"] = alternatives(setup, full);
  json["expected_seconds"] = trial.seconds;
  json["expected_bytes_per_s"] = trial.bytes_per_s;
  json["zero_rows"] = setup.plan.zero_rows == ZeroRows::kNan ? "nan" : "zero";
  json["nan_cells"] = setup.plan.nan_cells;
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

/// ", NVIDIA H200 (...) and 3 more"; nothing on processors.
std::string devices_in(const Json& json) {
  const auto devices = json["devices"].get<std::vector<std::string>>();
  if (devices.empty()) return "";
  const std::string more =
      devices.size() == 1 ? "" : " and " + std::to_string(devices.size() - 1) + " more";
  return ", " + devices.front() + more;
}

void print(const Json& json, std::ostream& out) {
  const Json& plan = json["plan"];
  out << "matrix    " << plan["queries"]["rows"] << " queries x " << plan["items"]["rows"]
      << " items, " << plan["columns"] << " columns\n"
      << "tiles     " << json["tiles"] << " of " << plan["tile"]["queries"] << " x "
      << plan["tile"]["items"] << " in " << plan["parts"].size() << " parts\n"
      << "error     every " << (plan["metric"] == "dot" ? "dot product" : "cosine") << " within "
      << error_text(plan["error_bound"].get<double>()) << " of the true one (grid 2^-"
      << plan["grid_bits"] << ")\n"
      << "rows      " << json["rows"]["zero_queries"] << " queries and "
      << json["rows"]["zero_items"] << " items without values, " << json["rows"]["unsorted"]
      << " unsorted, " << json["rows"]["duplicates"] << " duplicates, "
      << json["rows"]["explicit_zeros"] << " explicit zeros"
      << (json["nan_cells"] == 0 ? "" : "; " + json["nan_cells"].dump() + " cells are NaN") << '\n'
      << "ranks     " << json["ranks"] << " with " << json["threads_per_rank"]
      << " threads, chunks of " << json["chunk_rows"]
      << " items (limit: " << json["chunk_limit"].get<std::string>() << "), "
      << json["chunks_in_flight"] << " at once, " << json["query_batch_rows"]
      << " queries at once (limit: " << json["query_batch_limit"].get<std::string>() << ")\n"
      << "backend   " << json["backend"].get<std::string>() << devices_in(json) << '\n'
      << "memory    " << bytes_in(json["memory_peak"]) << " a rank, may use "
      << bytes_in(json["memory_limit"]) << '\n'
      << "output    " << (json["output_is_most"] == true ? "at most " : "")
      << bytes_in(json["output_bytes"]) << ", free " << bytes_in(json["free_bytes"])
      << "\n          instead: "
      << (json["output_bytes"] == json["alternatives"]["full"]
              ? ""
              : "full matrix " + bytes_in(json["alternatives"]["full"]) + ", ")
      << "float16 " << bytes_in(json["alternatives"]["float16"]) << ", nonzero cells at most "
      << bytes_in(json["alternatives"]["nonzero_at_most"]) << ", top 100 of each query "
      << bytes_in(json["alternatives"]["top_k_100"]) << '\n'
      << "time      about " << formatted("%.1f s", json["expected_seconds"].get<double>()) << '\n';
}

}  // namespace

void run_plan(const JobConfig& config, PlanFormat format, JobContext context, std::ostream& out) {
  PhaseTimer timer(context.watchdog);
  PlanFolder folder(config, context);
  const RunSetup setup = set_up_run(config, folder.path(), context, timer);
  timer.end();
  folder.remove();
  Trial trial = run_trial(config, setup, context);
  for (const auto& [phase, seconds] : timer.phases())
    trial.seconds += seconds;
  if (context.mpi.world().rank() != 0) return;
  const Json json = describe(config, setup, trial, folder, context);
  if (format == PlanFormat::kJson) {
    out << json.dump(1) << '\n';
  } else {
    print(json, out);
  }
}

}  // namespace bulksim
