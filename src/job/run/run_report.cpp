#include "job/run/run_report.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "core/text/format_text.hpp"
#include "job/plan/resources.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

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

Json side(const std::string& path, const std::string& ids, const InputSurvey& survey) {
  return {{"path", path},
          {"ids_path", ids},
          {"rows", survey.rows},
          {"columns", survey.columns},
          {"nonzeros", survey.nnz()},
          {"longest_row", survey.longest_row},
          {"content", survey.content().hex()},
          {"zero_rows", survey.counts.zero_rows},
          {"unsorted_rows", survey.counts.unsorted_rows},
          {"duplicates", survey.counts.duplicates},
          {"explicit_zeros", survey.counts.explicit_zeros}};
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
  const double seconds = seconds_of(timer, "compute");
  const MatrixShape shape = plan.grid.shape();
  const double share = plan.grid.count() > 0 ? static_cast<double>(computed_tiles) /
                                                   static_cast<double>(plan.grid.count())
                                             : 0.0;
  const double pairs =
      share * static_cast<double>(shape.queries) * static_cast<double>(shape.items);
  Json json;
  json["schema"] = 1;
  json["plan"] = plan.id().hex();
  json["queries"] = side(config.query_path(), config.query_ids_path(), surveys.queries);
  json["items"] = side(config.items, config.item_ids, surveys.items);
  json["error_bound"] = plan.error_bound;
  json["zero_rows"] = plan.zero_rows == ZeroRows::kNan ? "nan" : "zero";
  json["nan_cells"] = plan.nan_cells;
  json["ranks"] = ranks;
  json["threads_per_rank"] = threads;
  json["backend"] = backend;
  json["devices"] = devices;
  json["mpi"] = mpi;
  json["nccl"] = nccl.empty() ? "none" : nccl;
  json["version"] = BULKSIM_VERSION;
  for (const auto& [phase, spent] : timer.phases())
    json["seconds"][phase] = spent;
  json["attempt"] = attempt;
  json["tiles"] = {{"total", plan.grid.count()}, {"computed", computed_tiles},
                   {"resumed", resumed_tiles},   {"rehashed", rehashed_tiles},
                   {"damaged", damaged_tiles},   {"recomputed", recomputed_tiles},
                   {"zero", zero_tiles}};
  json["output_bytes"] = output_bytes;
  json["pairs_per_s"] = rate(pairs, seconds);
  json["useful_multiply_adds_per_s"] =
      rate(share * static_cast<double>(useful_multiply_adds), seconds);
  json["output_bytes_per_s"] = rate(share * static_cast<double>(output_bytes), seconds);
  json["memory"] = {{"planned", planned_memory}, {"peak", peak_memory}};
  return json.dump(1) + "\n";
}

void RunReport::summarize(const PhaseTimer& timer, const std::string& result, Log& log) const {
  const double seconds = total_seconds(timer);
  const double computing = seconds_of(timer, "compute");
  const std::string text = formatted("%s in %.1f s (%.1f s of computing and writing, %.2f GB/s)",
                                     bytes_text(output_bytes).c_str(), seconds, computing,
                                     rate(static_cast<double>(output_bytes), computing) * 1e-9);
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
    log.warning("recomputed",
                std::to_string(recomputed_tiles) +
                    " tiles failed their checks and were right when computed again: this hardware "
                    "makes errors",
                {{"tiles", recomputed_tiles}});
  }
}

}  // namespace bulksim
