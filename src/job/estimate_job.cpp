#include "job/estimate_job.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"
#include "core/text/format_text.hpp"
#include "job/blocks/strongest_blocks.hpp"
#include "job/plan/plan_folder.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/tile_selection.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kListed = 10;

double sum_of(const std::vector<double>& values, const std::vector<std::uint8_t>& mask) {
  double sum = 0.0;
  for (std::size_t at = 0; at < values.size(); ++at)
    if (mask[at] == 1) sum += values[at];
  return sum;
}

/// Whether the blocks of both maps begin at the same rows.
bool same_blocks(const BlockMap& a, const BlockMap& b) {
  if (a.rows != b.rows || a.columns != b.columns) return false;
  for (std::int64_t row = 0; row < a.rows; ++row)
    if (a.queries(row).begin != b.queries(row).begin) return false;
  for (std::int64_t column = 0; column < a.columns; ++column)
    if (a.items(column).begin != b.items(column).begin) return false;
  return true;
}

Json describe(const BlockMap& map, const JobConfig& config, const EstimateOptions& options,
              double seconds, const std::optional<Recall>& recall) {
  const auto mask = select_blocks(map.share, options.selection);
  Json json{{"schema", 1},
            {"softmax_scale", map.softmax_scale},
            {"stride", config.stride},
            {"blocks", {{"rows", map.rows}, {"columns", map.columns}}},
            {"block", {{"queries", map.block().queries}, {"items", map.block().items}}},
            {"selected", std::count(mask.begin(), mask.end(), 1)},
            {"seconds", seconds}};
  json["strongest"] = strongest_blocks(map, kListed);
  if (recall) {
    json["recall"] = {{"mass", recall->mass}, {"best", recall->best}, {"ratio", recall->ratio()}};
  }
  return json;
}

void print(const Json& json, std::ostream& out) {
  const auto line = [&](const char* format, auto... values) {
    out << formatted(format, values...) << '\n';
  };
  const auto rows = json["blocks"]["rows"].get<long long>();
  const auto columns = json["blocks"]["columns"].get<long long>();
  line("blocks    %lld x %lld of %lld queries x %lld items, softmax scale %g, groups of %lld rows",
       rows, columns, json["block"]["queries"].get<long long>(),
       json["block"]["items"].get<long long>(), json["softmax_scale"].get<double>(),
       json["stride"].get<long long>());
  line("selected  %lld of %lld blocks", json["selected"].get<long long>(), rows * columns);
  line("time      %.2f s", json["seconds"].get<double>());
  if (json.contains("recall")) {
    line("recall    the selected blocks hold %.2f %% of the exact mass, the best as many %.2f %%",
         100 * json["recall"]["mass"].get<double>(), 100 * json["recall"]["best"].get<double>());
  }
  print_blocks(json["strongest"], out);
}

}  // namespace

Recall recall_of(const BlockMap& estimate, const Selection& selection, const BlockMap& exact) {
  if (!same_blocks(estimate, exact)) {
    throw Error(
        ExitCode::kDataError,
        "the exact map has other blocks than the estimate: estimate with the inputs and the "
        "--tile of that result");
  }
  const auto chosen = select_blocks(estimate.share, selection);
  const auto count = std::count(chosen.begin(), chosen.end(), 1);
  std::vector<std::uint8_t> best(exact.fine.size());
  const auto order = by_share(exact.fine);
  for (std::ptrdiff_t place = 0; place < count; ++place)
    best[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])] = 1;
  const double all = sum_of(exact.fine, std::vector<std::uint8_t>(exact.fine.size(), 1));
  if (all == 0.0) return {};
  return {sum_of(exact.fine, chosen) / all, sum_of(exact.fine, best) / all};
}

void run_estimate(const JobConfig& config, const EstimateOptions& options, JobContext context,
                  std::ostream& out) {
  PhaseTimer timer(context.watchdog);
  PlanFolder folder(config, context);
  JobConfig plain = config;
  plain.select.reset();
  const RunSetup setup = set_up_run(plain, folder.path(), context, timer);
  timer.end();
  folder.remove();
  const Stopwatch watch;
  const BlockMap map = estimate_blocks(plain, setup, config.stride, context);
  const double seconds = watch.seconds();
  if (context.mpi.world().rank() != 0) return;
  std::optional<Recall> recall;
  if (!options.against.empty()) {
    const auto exact = read_block_map(context.calls, options.against);
    if (!exact || exact->is_estimate) {
      throw Error(ExitCode::kNoInput, "'" + options.against + "' has no exact block map");
    }
    recall = recall_of(map, options.selection, *exact);
  }
  const Json json = describe(map, config, options, seconds, recall);
  if (options.format == EstimateFormat::kJson) {
    out << json.dump(1) << '\n';
  } else {
    print(json, out);
  }
}

}  // namespace bulksim
