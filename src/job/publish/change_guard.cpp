#include "job/publish/change_guard.hpp"

#include <optional>

#include "core/text/json.hpp"
#include "storage/parts/tile_inspection.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

constexpr double kLeastShareOfItems = 0.8;
constexpr double kMostNewZeroRows = 0.01;  // of all rows

struct Before {
  std::int64_t rows = 0;
  std::int64_t items = 0;
  std::int64_t zero_rows = 0;
};

/// A JSON file of the current version; none when there is no version to compare with, or no file.
std::optional<JsonReader> file_before(const RunDirectory& run, const std::string& name,
                                      FileCalls& calls) {
  if (run.form() != OutputForm::kVersions) return std::nullopt;
  const std::string version = current_version(calls, run.output());
  const std::string path = run.output() + "/versions/" + version + "/" + name;
  if (version.empty() || !exists(calls, path)) return std::nullopt;
  return JsonReader::parse_or_empty(read_text(calls, path));
}

/// The inputs of the current version; none if its report is missing or incomplete.
std::optional<Before> version_before(const RunDirectory& run, FileCalls& calls) {
  const auto report = file_before(run, "report.json", calls);
  if (!report) return std::nullopt;
  const JsonReader& json = *report;
  const auto items = json.find_integer("items/rows");
  const auto queries = json.find_integer("queries/rows");
  const auto zero_items = json.find_integer("items/zero_rows");
  const auto zero_queries = json.find_integer("queries/zero_rows");
  if (!items || !queries || !zero_items || !zero_queries) return std::nullopt;
  if (json.find_boolean("self_join").value_or(false)) return Before{*items, *items, *zero_items};
  return Before{*items + *queries, *items, *zero_items + *zero_queries};
}

Error refused(const std::string& reason) {
  return Error(ExitCode::kDataError,
               "--guard prevents publishing: " + reason +
                   "; the result is kept, and the same command with --accept-change publishes it");
}

/// Values that are not scores, in all tiles: those of earlier attempts may not have been checked.
std::int64_t count_all_outside(const Publication& publication, FileCalls& calls) {
  if (!publication.parts.has_matrix()) return 0;
  const TileGrid& grid = publication.plan.grid;
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < grid.count(); ++tile)
    tiles.push_back(tile);
  TileFiles files(calls, grid, publication.parts.paths, publication.parts.layouts,
                  TileAccess::kRead);
  std::int64_t outside = 0;
  for (const TileFinding& finding :
       inspect_tiles(files, grid, tiles, publication.threads, WholeNanRows::kIgnore,
                     largest_score(publication.plan.arithmetic.metric)))
    outside += finding.outside;
  return outside;
}

}  // namespace

void log_arithmetic_change(const JobConfig& config, const RunDirectory& run, FileCalls& calls,
                           Log& log) {
  if (config.guard != Guard::kOn) return;
  const auto plan = file_before(run, "PLAN.json", calls);
  const auto version = plan ? plan->find_integer("arithmetic_version") : std::nullopt;
  if (!version || *version == kArithmeticVersion) return;
  log.info("arithmetic", "the previous version was computed with arithmetic version " +
                             std::to_string(*version) + ", this one with version " +
                             std::to_string(kArithmeticVersion) +
                             ": scores differ within the error bounds of both");
}

void check_guard(const Publication& publication, const RunDirectory& run, FileCalls& calls) {
  if (publication.config.guard != Guard::kOn) return;
  const std::int64_t outside = publication.outside.has_value()
                                   ? *publication.outside
                                   : count_all_outside(publication, calls);
  const std::int64_t expected = publication.plan.has_matrix() ? publication.plan.nan_cells : 0;
  if (outside != expected) {
    throw refused(std::to_string(outside) +
                  (publication.plan.arithmetic.metric == Metric::kDot
                       ? " values are not dot products (NaN or infinite)"
                       : " values are not cosines (NaN or outside of [-1, 1])") +
                  (expected > 0 ? ", and empty rows explain " + std::to_string(expected) : ""));
  }
  check_guard_of_inputs(publication.config, publication.plan, publication.zero_rows, run, calls);
}

void check_guard_of_inputs(const JobConfig& config, const Plan& plan, std::int64_t zero_rows,
                           const RunDirectory& run, FileCalls& calls) {
  if (config.guard != Guard::kOn) return;
  const auto before = version_before(run, calls);
  if (!before) return;
  const MatrixShape shape = plan.grid.shape();
  if (static_cast<double>(shape.items) < kLeastShareOfItems * static_cast<double>(before->items)) {
    throw refused("there are " + std::to_string(shape.items) +
                  " items, and the previous version has " + std::to_string(before->items));
  }
  const auto share = [](std::int64_t some, std::int64_t all) {
    return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0.0;
  };
  const std::int64_t rows = config.queries.empty() ? shape.items : shape.items + shape.queries;
  if (share(zero_rows, rows) > share(before->zero_rows, before->rows) + kMostNewZeroRows) {
    throw refused(std::to_string(zero_rows) +
                  " rows are empty, and in the previous version there were " +
                  std::to_string(before->zero_rows));
  }
}

}  // namespace bulksim
