#include "job/run/run_report.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include "core/run/memory.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/plan/resources.hpp"

namespace bulksim {

namespace {

constexpr double kLeastTimed = 0.1;  // seconds; a rate over less is meaningless

double seconds_of(const PhaseTimer& timer, const std::string& name) {
  for (const auto& [phase, seconds] : timer.phases()) {
    if (phase == name) return seconds;
  }
  return 0.0;
}

double total_seconds(const PhaseTimer& timer) {
  double sum = 0.0;
  for (const auto& [phase, seconds] : timer.phases())
    sum += seconds;
  return sum;
}

double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0.0;
}

double share_of(std::int64_t some, std::int64_t all) {
  return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0.0;
}

/// Bytes of the output in the tiles of this attempt.
double bytes_of_attempt(const RunReport& report) {
  return share_of(report.computed_tiles, report.computed_tiles + report.resumed_tiles) *
         static_cast<double>(report.output_bytes);
}

JsonObject side(const std::string& path, const std::string& ids, const InputSurvey& survey) {
  JsonObject json;
  json.add("path", path)
      .add("ids_path", ids)
      .add("rows", survey.rows)
      .add("columns", survey.columns)
      .add("nonzeros", survey.nnz())
      .add("longest_row", survey.longest_row)
      .add("exact_rows", survey.values.rounding.exact_rows)
      .add("content", survey.content().hex())
      .add("zero_rows", survey.counts.zero_rows)
      .add("unsorted_rows", survey.counts.unsorted_rows)
      .add("duplicates", survey.counts.duplicates)
      .add("explicit_zeros", survey.counts.explicit_zeros);
  return json;
}

JsonObject tiles_json(const RunReport& report) {
  JsonObject json;
  json.add("total", report.plan.grid.count())
      .add("computed", report.computed_tiles)
      .add("resumed", report.resumed_tiles)
      .add("rehashed", report.rehashed_tiles)
      .add("damaged", report.damaged_tiles)
      .add("recomputed", report.recomputed_tiles)
      .add("zero", report.zero_tiles);
  return json;
}

}  // namespace

void RunReport::take(const TileOutcome& outcome) {
  backend = outcome.backend;
  recomputed_tiles = outcome.recomputed_tiles;
  computed_tiles = outcome.done;
  zero_tiles = outcome.zero_tiles;
}

void RunReport::collect(const JobConfig& job_config, const RunSetup& setup,
                        MpiEnvironment& environment) {
  std::array<std::int64_t, 2> most{bulksim::peak_memory(), setup.schedule.memory_peak()};
  environment.world().all_reduce_max(most);
  std::array<std::int64_t, 3> sums{recomputed_tiles, computed_tiles, zero_tiles};
  environment.world().all_reduce_sum(sums);
  recomputed_tiles = sums[0];
  computed_tiles = sums[1];
  zero_tiles = sums[2];
  peak_memory = most[0];
  planned_memory = most[1];
  useful_multiply_adds = setup.surveys.items.work_of({0, setup.surveys.items.rows});
  ranks = environment.world().size();
  threads = setup.resources.threads;
  devices = setup.devices.all;
  nccl = setup.devices.nccl_version;
  config = job_config;
  plan = setup.plan;
  surveys = setup.surveys;
  mpi = environment.mpi_version();
}

std::string RunReport::to_json(const PhaseTimer& timer) const {
  const double computing = seconds_of(timer, "compute");
  const MatrixShape shape = plan.grid.shape();
  const double share = share_of(computed_tiles, plan.grid.count());
  const double pairs =
      share * static_cast<double>(shape.queries) * static_cast<double>(shape.items);
  std::error_code unknown;  // a folder that was removed has no path
  JsonObject json;
  json.add("schema", 1)
      .add("plan", plan.id().hex())
      .add("queries", side(config.query_path(), config.query_ids_path(), surveys.queries))
      .add("items", side(config.items, config.item_ids, surveys.items))
      .add("self_join", config.queries.empty())
      .add("vocabulary_path", config.vocabulary)
      .add("keys", config.keys == VectorKeys::kIndices ? "index" : "terms")
      .add("folder", std::filesystem::current_path(unknown).string())
      .add("error_bound", plan.error_bound)
      .add("zero_rows", plan.zero_rows == ZeroRows::kNan ? "nan" : "zero")
      .add("nan_cells", plan.nan_cells)
      .add("ranks", ranks)
      .add("threads_per_rank", threads)
      .add("backend", backend)
      .add("devices", devices)
      .add("mpi", mpi)
      .add("nccl", nccl.empty() ? "none" : nccl)
      .add("version", BULKSIM_VERSION);
  JsonObject seconds;
  for (const auto& [phase, spent] : timer.phases())
    seconds.add(phase, spent);
  if (!seconds.empty()) json.add("seconds", seconds);
  json.add("attempt", attempt)
      .add("tiles", tiles_json(*this))
      .add("output_bytes", output_bytes)
      .add("pairs_per_s", rate(pairs, computing))
      .add("useful_multiply_adds_per_s",
           rate(share * static_cast<double>(useful_multiply_adds), computing))
      .add("output_bytes_per_s", rate(bytes_of_attempt(*this), computing))
      .add("memory", JsonObject().add("planned", planned_memory).add("peak", peak_memory));
  return json.text(1) + "\n";
}

void RunReport::summarize(const PhaseTimer& timer, const std::string& result, Log& log) const {
  const double seconds = total_seconds(timer);
  const double computing = seconds_of(timer, "compute");
  std::string text = formatted("%s in %.1f s (%.1f s of computing and writing",
                               bytes_text(output_bytes).c_str(), seconds, computing);
  if (plan.filter) {
    text += formatted(", %.1f s of merging", seconds_of(timer, "merge"));
  } else if (computing >= kLeastTimed && computed_tiles > 0) {
    const double speed = rate(bytes_of_attempt(*this), computing);
    text += ", " + bytes_text(static_cast<std::int64_t>(speed)) + "/s";
  }
  text += ")";
  log.info("done", text + "; read '" + result + "'",
           {{"seconds", seconds}, {"bytes", output_bytes}, {"result", result}});
  if (zero_tiles > 0) {
    log.warning(
        "zero_tiles",
        std::to_string(zero_tiles) + " of " + std::to_string(computed_tiles) +
            " tiles are 0 in every cell: do the columns of queries and items mean the same?",
        {{"tiles", zero_tiles}});
  }
  if (recomputed_tiles > 0) {
    log.warning(
        "recomputed",
        std::to_string(recomputed_tiles) +
            " tiles failed their checks and were right when recomputed: this hardware makes errors",
        {{"tiles", recomputed_tiles}});
  }
}

}  // namespace bulksim
