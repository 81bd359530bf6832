#include "job/estimate_job.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/blocks/strongest_blocks.hpp"
#include "job/plan/plan_folder.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/tile_selection.hpp"

namespace bulksim {

namespace {

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

/// Result of an estimate.
struct EstimateReport {
  double softmax_scale = 0.0;
  std::int64_t stride = 0;
  std::int64_t rows = 0;  ///< of blocks
  std::int64_t columns = 0;
  TileShape block;
  std::int64_t selected = 0;
  double seconds = 0.0;
  std::vector<StrongBlock> strongest;
  std::optional<Recall> recall;  ///< against an exact map, where there is one

  std::string to_json() const;
  std::string to_text() const;
};

std::string EstimateReport::to_json() const {
  JsonObject json;
  json.add("schema", 1)
      .add("softmax_scale", softmax_scale)
      .add("stride", stride)
      .add("blocks", JsonObject().add("rows", rows).add("columns", columns))
      .add("block", JsonObject().add("queries", block.queries).add("items", block.items))
      .add("selected", selected)
      .add("seconds", seconds)
      .add("strongest", bulksim::to_json(strongest));
  if (recall) {
    json.add("recall", JsonObject()
                           .add("mass", recall->mass)
                           .add("best", recall->best)
                           .add("ratio", recall->ratio()));
  }
  return json.text(1) + "\n";
}

std::string EstimateReport::to_text() const {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  std::string text = "blocks    " + number(rows) + " x " + number(columns) + " of " +
                     number(block.queries) + " queries x " + number(block.items) + " items, " +
                     formatted("softmax scale %g, groups of ", softmax_scale) + number(stride) +
                     " rows\n";
  text += "selected  " + number(selected) + " of " + number(rows * columns) + " blocks\n";
  text += formatted("time      %.2f s\n", seconds);
  if (recall) {
    text += formatted(
        "recall    the selected blocks hold %.2f %% of the exact mass, the best as many %.2f %%\n",
        100 * recall->mass, 100 * recall->best);
  }
  return text + bulksim::to_text(strongest);
}

EstimateReport report_on(const BlockMap& map, const JobConfig& config,
                         const EstimateOptions& options) {
  const auto mask = select_blocks(map.share, options.selection);
  EstimateReport report;
  report.softmax_scale = map.softmax_scale;
  report.stride = config.stride;
  report.rows = map.rows;
  report.columns = map.columns;
  report.block = map.block();
  report.selected = std::count(mask.begin(), mask.end(), 1);
  report.strongest = strongest_blocks(map, kListed);
  return report;
}

}  // namespace

Recall recall_of(const BlockMap& estimate, const Selection& selection, const BlockMap& exact) {
  if (!same_blocks(estimate, exact)) {
    throw Error(ExitCode::kDataError,
                "the exact map and the estimate have different blocks: use the inputs and the "
                "--tile of that result");
  }
  const auto chosen = select_blocks(estimate.share, selection);
  const auto count = std::count(chosen.begin(), chosen.end(), 1);
  std::vector<std::uint8_t> best(exact.fine.size());
  const auto order = by_share(exact.fine);
  for (std::ptrdiff_t place = 0; place < count; ++place)
    best[order[place]] = 1;
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
  EstimateReport report = report_on(map, config, options);
  report.seconds = seconds;
  if (!options.against.empty()) {
    const auto exact = read_block_map(context.calls, options.against);
    if (!exact || exact->is_estimate) {
      throw Error(ExitCode::kNoInput, "'" + options.against + "' has no exact block map");
    }
    report.recall = recall_of(map, options.selection, *exact);
  }
  out << (options.format == EstimateFormat::kJson ? report.to_json() : report.to_text());
}

}  // namespace bulksim
