#include "job/plan_job.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/plan/error_bound.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/plan_folder.hpp"
#include "job/publish/pair_size.hpp"
#include "job/publish/publication.hpp"
#include "job/run/pilot_run.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/run_report.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

namespace {

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

/// Bytes of the largest possible number of pairs of a plan.
std::int64_t most_pair_bytes(const JobConfig& config, const RunSetup& setup) {
  const std::int64_t queries = setup.plan.grid.shape().queries;
  const std::int64_t pairs = most_pairs(setup.plan, setup.surveys, queries, cells_of(setup.plan));
  return pair_result_size(setup.plan, std::vector(static_cast<std::size_t>(queries) + 1, pairs),
                          file_form(config.output))
      .most;
}

/// Bytes of other results for the same inputs, by option.
struct Alternatives {
  std::int64_t full = 0;
  std::int64_t float16 = 0;
  std::int64_t nonzero_at_most = 0;
  std::int64_t top_k = 0;  ///< of kPlannedTopK results per query

  JsonObject to_json() const;
};

Alternatives alternatives(const RunSetup& setup, std::int64_t full) {
  const MatrixShape shape = setup.plan.grid.shape();
  const std::int64_t index = shape.items < (std::int64_t{1} << 31) ? 4 : 8;
  return {full, full - (bytes_of(setup.plan.value_type) - 2) * padded_cells(setup.plan.grid),
          (index + 4) * most_nonzero(setup) + 8 * (shape.queries + 1),
          (8 + 4) * kPlannedTopK * shape.queries};
}

JsonObject Alternatives::to_json() const {
  JsonObject json;
  json.add("full", full)
      .add("float16", float16)
      .add("nonzero_at_most", nonzero_at_most)
      .add("top_k_100", top_k);
  return json;
}

/// Output, memory and time of a run of this plan.
struct PlanReport {
  const RunSetup& setup;
  int ranks = 1;
  std::int64_t output_bytes = 0;
  std::int64_t free_bytes = 0;  ///< of the file system of the output
  Alternatives alternatives;
  PilotRun pilot;

  std::int64_t chunk_rows() const;
  std::int64_t query_batch_rows() const;
  /// Whether `output_bytes` is an upper limit.
  bool is_upper_limit() const;
  JsonObject rows_json() const;
  std::string error_line() const;
  std::string rows_text() const;
  std::string output_text() const;
  std::string to_json() const;
  std::string to_text() const;
};

std::int64_t PlanReport::chunk_rows() const {
  return setup.schedule.chunk_columns * setup.plan.grid.tile().items;
}

std::int64_t PlanReport::query_batch_rows() const {
  return std::min(setup.schedule.query_batch_rows * setup.plan.grid.tile().queries,
                  setup.plan.grid.shape().queries);
}

bool PlanReport::is_upper_limit() const {
  return setup.plan.filter && setup.plan.filter->keep != Keep::kBest;
}

/// Rows that are not integers times a power of two.
std::int64_t rounded_rows(const InputSurvey& survey) {
  return survey.rows - survey.values.rounding.exact_rows;
}

JsonObject PlanReport::rows_json() const {
  const CanonicalizationCounts sum = setup.counts();
  JsonObject json;
  json.add("zero_queries", setup.surveys.queries.counts.zero_rows)
      .add("zero_items", setup.surveys.items.counts.zero_rows)
      .add("rounded_queries", rounded_rows(setup.surveys.queries))
      .add("rounded_items", rounded_rows(setup.surveys.items))
      .add("unsorted", sum.unsorted_rows)
      .add("duplicates", sum.duplicates)
      .add("explicit_zeros", sum.explicit_zeros);
  return json;
}

std::string PlanReport::to_json() const {
  const Plan& plan = setup.plan;
  JsonObject memory;
  for (const auto& [purpose, bytes] : setup.schedule.memory)
    memory.add(purpose, bytes);
  JsonObject json;
  json.add("schema", 1)
      .add_parsed("plan", plan.to_json())
      .add("plan_id", plan.id().hex())
      .add("tiles", plan.grid.count())
      .add("ranks", ranks)
      .add("threads_per_rank", setup.resources.threads)
      .add("backend", setup.resources.device ? "cuda" : "cpu")
      .add("devices", setup.devices.all)
      .add("chunk_limit", setup.schedule.chunk_limit)
      .add("chunk_rows", chunk_rows())
      .add("chunks_in_flight", setup.schedule.chunks_in_flight)
      .add("query_batch_rows", query_batch_rows())
      .add("query_batch_limit", setup.schedule.query_limit)
      .add("memory", memory)
      .add("memory_peak", setup.schedule.memory_peak())
      .add("memory_limit", setup.resources.memory)
      .add("output_bytes", output_bytes)
      .add("output_is_most", is_upper_limit())
      .add("free_bytes", free_bytes)
      .add("alternatives", alternatives.to_json())
      .add("expected_seconds", pilot.seconds)
      .add("expected_bytes_per_s", pilot.bytes_per_s)
      .add("zero_rows", plan.zero_rows == ZeroRows::kNan ? "nan" : "zero")
      .add("nan_cells", plan.nan_cells)
      .add("rows", rows_json());
  return json.text(1) + "\n";
}

/// ", NVIDIA H200 (...) and 3 more"; empty on the CPU.
std::string text_of(const std::vector<std::string>& devices) {
  if (devices.empty()) return "";
  const std::string more =
      devices.size() == 1 ? "" : " and " + std::to_string(devices.size() - 1) + " more";
  return ", " + devices.front() + more;
}

/// How many rows are rounded, and what that means for the scores.
std::string PlanReport::error_line() const {
  const std::string score = setup.plan.arithmetic.metric == Metric::kDot ? "dot product" : "cosine";
  const std::int64_t queries = rounded_rows(setup.surveys.queries);
  const std::int64_t items = rounded_rows(setup.surveys.items);
  std::string text =
      "every " + score + " within " + error_text(setup.plan.error_bound) + " of the true one; ";
  if (queries + items == 0) return text + "all rows are exact, and so are equal scores";
  return text + setup.rows_text(queries, items) + " are rounded, the others are exact";
}

std::string PlanReport::rows_text() const {
  const CanonicalizationCounts sum = setup.counts();
  std::string text = setup.rows_text(setup.surveys.queries.counts.zero_rows,
                                     setup.surveys.items.counts.zero_rows) +
                     " are empty, " + std::to_string(sum.unsorted_rows) + " rows are unsorted; " +
                     std::to_string(sum.duplicates) + " duplicates, " +
                     std::to_string(sum.explicit_zeros) + " explicit zeros";
  if (setup.plan.nan_cells != 0)
    text += "; " + std::to_string(setup.plan.nan_cells) + " cells are NaN";
  return text;
}

std::string PlanReport::output_text() const {
  std::string text = (is_upper_limit() ? "at most " : "") + bytes_text(output_bytes) + ", free " +
                     bytes_text(free_bytes) + "\n          instead: ";
  if (output_bytes != alternatives.full) {
    text += "full matrix " + bytes_text(alternatives.full) + ", ";
  }
  return text + "float16 " + bytes_text(alternatives.float16) + ", nonzero cells at most " +
         bytes_text(alternatives.nonzero_at_most) + ", top " + std::to_string(kPlannedTopK) +
         " of each query " + bytes_text(alternatives.top_k);
}

std::string PlanReport::to_text() const {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const Plan& plan = setup.plan;
  const MatrixShape shape = plan.grid.shape();
  std::string text = "matrix    " + number(shape.queries) + " queries x " + number(shape.items) +
                     " items, " + number(plan.columns) + " columns\n";
  text += "tiles     " + number(plan.grid.count()) + " of " + number(plan.grid.tile().queries) +
          " x " + number(plan.grid.tile().items) + " in " + number(std::ssize(plan.parts)) +
          " parts\n";
  text += "error     " + error_line() + "\n";
  text += "rows      " + rows_text() + "\n";
  text += "ranks     " + number(ranks) + " with " + number(setup.resources.threads) +
          (setup.resources.threads == 1 ? " thread" : " threads") + ", chunks of " +
          number(chunk_rows()) + " items (limit: " + setup.schedule.chunk_limit + "), " +
          number(setup.schedule.chunks_in_flight) + " at once, " + number(query_batch_rows()) +
          " queries at once (limit: " + setup.schedule.query_limit + ")\n";
  text += std::string("backend   ") + (setup.resources.device ? "cuda" : "cpu") +
          text_of(setup.devices.all) + "\n";
  text += "memory    " + bytes_text(setup.schedule.memory_peak()) + " per rank, limit " +
          bytes_text(setup.resources.memory) + "\n";
  text += "output    " + output_text() + "\n";
  return text + formatted("time      about %.1f s\n", pilot.seconds);
}

/// Bytes of the result.
std::int64_t planned_bytes(const JobConfig& config, const RunSetup& setup, const PlanFolder& folder,
                           JobContext context) {
  if (setup.plan.filter) return most_pair_bytes(config, setup);
  const RunDirectory run(context.calls, config.output, setup.plan.id());
  return result_bytes(setup.plan, make_layout(setup.plan, run), run.form(), context.calls,
                      parent_of(folder.path()));
}

}  // namespace

void run_plan(const JobConfig& config, PlanFormat format, JobContext context, std::ostream& out) {
  PhaseTimer timer(context.watchdog);
  PlanFolder folder(config, context);
  const RunSetup setup = set_up_run(config, folder.path(), context, timer);
  timer.end();
  PilotRun pilot = run_pilot(config, setup, folder.path(), context);
  folder.remove();
  for (const auto& [phase, seconds] : timer.phases())
    pilot.seconds += seconds;
  if (context.mpi.world().rank() != 0) return;
  const std::int64_t bytes = planned_bytes(config, setup, folder, context);
  const std::int64_t full = setup.plan.has_matrix()
                                ? bytes
                                : padded_cells(setup.plan.grid) * bytes_of(setup.plan.value_type);
  const std::string on = existing_folder(context.calls, config.output);
  const PlanReport report{setup,
                          context.mpi.world().size(),
                          bytes,
                          context.calls.free_bytes(on.c_str()),
                          alternatives(setup, full),
                          pilot};
  out << (format == PlanFormat::kJson ? report.to_json() : report.to_text());
}

}  // namespace bulksim
