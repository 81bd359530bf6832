#include "bulksim/job/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/row_partition.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostParts = 240;
constexpr std::int64_t kTileQueries = 1024;
constexpr std::int64_t kMostTileItems = 4096;
constexpr std::int64_t kLeastTileItems = 1024;
constexpr std::int64_t kEnoughTileColumns = 32;
constexpr double kPromisedError = 1e-6;

// About nanoseconds on one core: a pair is written in 2, a nonzero read and inverted in 10, a
// useful multiply-add done in half of one. Fixed for good: they are part of what a plan means.
constexpr std::int64_t kPairWeight = 4;
constexpr std::int64_t kNonzeroWeight = 20;
constexpr std::int64_t kWorkWeight = 1;

std::int64_t common_columns(const JobConfig& config, const Surveys& surveys) {
  const std::int64_t items = surveys.items.columns;
  const std::int64_t queries = surveys.queries.columns;
  if (items != queries && config.dimensions == Dimensions::kMustAgree) {
    throw Error(ExitCode::kDataError,
                "'" + config.query_path() + "' has " + std::to_string(queries) + " columns and '" +
                    config.items + "' has " + std::to_string(items) +
                    "; if the narrower side only lacks empty columns, say --pad-dims");
  }
  return std::max(items, queries);
}

void check_zero_rows(const JobConfig& config, const std::string& path, const InputSurvey& survey) {
  if (config.zero_rows != ZeroRows::kError || survey.counts.zero_rows == 0) return;
  throw Error(ExitCode::kDataError, "'" + path + "' has " +
                                        std::to_string(survey.counts.zero_rows) +
                                        " rows without values, and --zero-rows error refuses them");
}

/// The largest number of columns two rows can share, and the bound that follows.
double proven_bound(const Surveys& surveys, Grid arithmetic) {
  const auto n_q = static_cast<double>(surveys.queries.longest_row);
  const auto n_i = static_cast<double>(surveys.items.longest_row);
  return cosine_bound(std::min(n_q, n_i), n_q, n_i, arithmetic);
}

Grid choose_arithmetic(const Surveys& surveys) {
  const std::int64_t shared = std::min(surveys.queries.longest_row, surveys.items.longest_row);
  const Grid arithmetic = shared > kFineGridNonzeros ? kWideGrid : kFineGrid;
  const double bound = proven_bound(surveys, arithmetic);
  if (bound > kPromisedError) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "rows of %lld nonzeros on both sides are too long: the proven error would be "
                  "%.2g, over 1e-6",
                  static_cast<long long>(shared), bound);
    throw Error(ExitCode::kDataError, text);
  }
  return arithmetic;
}

TileShape choose_tile(const JobConfig& config, MatrixShape shape) {
  if (!config.tile) return default_tile(shape);
  // a tile larger than the matrix would only be padding
  return {std::min(config.tile->queries, std::max<std::int64_t>(shape.queries, 1)),
          std::min(config.tile->items, std::max<std::int64_t>(shape.items, 1))};
}

/// The two products that every size follows from stay in 64 bits.
void check_extent(const Surveys& surveys) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(surveys.queries.rows, surveys.items.rows, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{8}, &bytes)) {
    throw Error(ExitCode::kIoError, std::to_string(surveys.queries.rows) + " x " +
                                        std::to_string(surveys.items.rows) +
                                        " values are more than any file system holds");
  }
}

/// A row without values makes all its cells NaN; a cell of two such rows counts once.
std::int64_t cells_without_cosine(const Surveys& surveys) {
  const std::int64_t queries = surveys.queries.counts.zero_rows;
  const std::int64_t items = surveys.items.counts.zero_rows;
  return queries * surveys.items.rows + items * surveys.queries.rows - queries * items;
}

nlohmann::ordered_json side_json(std::int64_t rows, const Digest& content,
                                 const std::optional<NameFacts>& ids) {
  nlohmann::ordered_json json{{"rows", rows}, {"content", content.hex()}};
  if (ids) json["ids"] = {{"digest", ids->digest.hex()}, {"bytes", ids->width}};
  return json;
}

/// Numbers of float32 are numbers of float64: they come back with the same bits.
nlohmann::ordered_json cut_json(const ResultCut& cut) {
  nlohmann::ordered_json json;
  if (std::isfinite(cut.at_least)) json["at_least"] = static_cast<double>(cut.at_least);
  if (std::isfinite(cut.below)) json["below"] = static_cast<double>(cut.below);
  json["nonzero_only"] = cut.nonzero_only;
  json["partners"] = static_cast<int>(cut.partners);
  json["keep"] = static_cast<int>(cut.keep);
  json["count"] = cut.count;
  json["seed"] = cut.seed;
  json["queries"] = {cut.queries.begin, cut.queries.end};
  json["items"] = {cut.items.begin, cut.items.end};
  return json;
}

ResultCut cut_in(const nlohmann::json& json) {
  ResultCut cut;
  if (json.contains("at_least")) cut.at_least = static_cast<float>(json["at_least"].get<double>());
  if (json.contains("below")) cut.below = static_cast<float>(json["below"].get<double>());
  cut.nonzero_only = json.at("nonzero_only").get<bool>();
  cut.partners = static_cast<Partners>(json.at("partners").get<int>());
  cut.keep = static_cast<Keep>(json.at("keep").get<int>());
  cut.count = json.at("count").get<std::int64_t>();
  cut.seed = json.at("seed").get<std::uint64_t>();
  cut.queries = {json.at("queries").at(0).get<std::int64_t>(),
                 json.at("queries").at(1).get<std::int64_t>()};
  cut.items = {json.at("items").at(0).get<std::int64_t>(),
               json.at("items").at(1).get<std::int64_t>()};
  return cut;
}

/// Throws Error (64) for wishes that these inputs cannot fulfil.
ResultCut checked_cut(ResultCut cut, const JobConfig& config, MatrixShape shape) {
  if (config.zero_rows == ZeroRows::kNan) {
    throw Error(ExitCode::kUsage,
                "--zero-rows nan belongs to the full matrix: NaN is in no list of pairs (say "
                "--zero-rows zero or error)");
  }
  if (cut.keep != Keep::kAll && shape.items > kMostRankedItems) {
    throw Error(ExitCode::kUsage, "--top-k and --sample-per-query take at most 2^32 items");
  }
  cut.queries = {std::min(cut.queries.begin, shape.queries),
                 std::min(cut.queries.end, shape.queries)};
  cut.items = {std::min(cut.items.begin, shape.items), std::min(cut.items.end, shape.items)};
  return cut;
}

std::optional<NameFacts> ids_in(const nlohmann::json& side) {
  if (!side.contains("ids")) return std::nullopt;
  return NameFacts{Digest::from_hex(side["ids"].at("digest").get<std::string>()),
                   side["ids"].at("bytes").get<std::int64_t>()};
}

}  // namespace

std::string Plan::to_json() const {
  nlohmann::ordered_json json;
  json["format"] = 1;
  json["arithmetic_version"] = kArithmeticVersion;
  json["metric"] = "cosine";
  json["mode"] = cut ? "pairs" : "full";
  if (cut) json["pairs"] = cut_json(*cut);
  json["dtype"] = "float32";
  json["queries"] = side_json(grid.shape().queries, queries, query_ids);
  json["items"] = side_json(grid.shape().items, items, item_ids);
  json["columns"] = columns;
  if (vocabulary) json["vocabulary"] = vocabulary->hex();
  json["zero_rows"] = zero_rows == ZeroRows::kNan ? "nan" : "zero";
  json["nan_cells"] = nan_cells;
  json["grid_bits"] = arithmetic.bits;
  json["error_bound"] = error_bound;
  json["tile"] = {{"queries", grid.tile().queries}, {"items", grid.tile().items}};
  json["parts"] = nlohmann::ordered_json::array();
  for (const RowRange& part : parts)
    json["parts"].push_back({part.begin, part.end});
  return json.dump(1) + "\n";
}

Plan Plan::from_json(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    Plan plan;
    plan.queries = Digest::from_hex(json.at("queries").at("content").get<std::string>());
    plan.items = Digest::from_hex(json.at("items").at("content").get<std::string>());
    plan.columns = json.at("columns").get<std::int64_t>();
    plan.grid = TileGrid({json.at("queries").at("rows").get<std::int64_t>(),
                          json.at("items").at("rows").get<std::int64_t>()},
                         {json.at("tile").at("queries").get<std::int64_t>(),
                          json.at("tile").at("items").get<std::int64_t>()});
    for (const auto& part : json.at("parts")) {
      plan.parts.push_back({part.at(0).get<std::int64_t>(), part.at(1).get<std::int64_t>()});
    }
    plan.arithmetic.bits = json.at("grid_bits").get<int>();
    plan.error_bound = json.at("error_bound").get<double>();
    plan.nan_cells = json.at("nan_cells").get<std::int64_t>();
    if (json.at("zero_rows").get<std::string>() == "nan") plan.zero_rows = ZeroRows::kNan;
    if (json.contains("pairs")) plan.cut = cut_in(json["pairs"]);
    plan.query_ids = ids_in(json.at("queries"));
    plan.item_ids = ids_in(json.at("items"));
    if (json.contains("vocabulary")) {
      plan.vocabulary = Digest::from_hex(json["vocabulary"].get<std::string>());
    }
    if (plan.to_json() == text) return plan;
  } catch (const nlohmann::json::exception&) {
    // not even JSON: the same sentence
  }
  throw Error(ExitCode::kDataError, "this is not a plan of this version of bulksim");
}

Digest Plan::id() const {
  const std::string text = to_json();
  return digest_of(std::as_bytes(std::span(text)));
}

Plan make_plan(const JobConfig& config, const Surveys& surveys) {
  Plan plan;
  plan.columns = common_columns(config, surveys);
  check_zero_rows(config, config.query_path(), surveys.queries);
  check_zero_rows(config, config.items, surveys.items);
  check_extent(surveys);
  plan.queries = surveys.queries.content();
  plan.items = surveys.items.content();
  plan.arithmetic = choose_arithmetic(surveys);
  plan.error_bound = proven_bound(surveys, plan.arithmetic);
  plan.vocabulary = surveys.items.vocabulary;
  const MatrixShape shape{surveys.queries.rows, surveys.items.rows};
  plan.grid = TileGrid(shape, choose_tile(config, shape));
  if (config.cut) plan.cut = checked_cut(*config.cut, config, shape);
  if (plan.grid.count() == 0) return plan;
  plan.query_ids = surveys.queries.ids;
  plan.item_ids = surveys.items.ids;
  if (config.zero_rows == ZeroRows::kNan) {
    plan.zero_rows = ZeroRows::kNan;
    plan.nan_cells = cells_without_cosine(surveys);
  }
  const std::int64_t columns = plan.grid.columns();
  const std::int64_t parts =
      std::min(config.parts.value_or(default_parts(shape, columns)), columns);
  plan.parts = partition_by_cost(tile_column_costs(plan.grid, surveys.items), parts);
  std::erase_if(plan.parts, [](const RowRange& part) { return part.empty(); });
  return plan;
}

TileShape default_tile(MatrixShape shape) {
  std::int64_t items = kMostTileItems;
  while (items > kLeastTileItems && divide_up(shape.items, items) < kEnoughTileColumns)
    items /= 2;
  return {std::clamp<std::int64_t>(shape.queries, 1, kTileQueries),
          std::clamp<std::int64_t>(shape.items, 1, items)};
}

std::int64_t default_parts(MatrixShape shape, std::int64_t tile_columns) {
  // ceil(4 queries items / 2^34), written so that it stays in 64 bits
  const std::int64_t by_size = divide_up(shape.queries * shape.items, std::int64_t{1} << 32);
  return std::min({std::max<std::int64_t>(8, by_size), kMostParts, tile_columns});
}

std::vector<std::int64_t> tile_column_costs(const TileGrid& grid, const InputSurvey& items) {
  std::vector<std::int64_t> costs;
  for (std::int64_t column = 0; column < grid.columns(); ++column) {
    const RowRange rows = grid.items(column);
    costs.push_back(kPairWeight * grid.shape().queries * rows.size() +
                    kNonzeroWeight * items.nnz_of(rows) + kWorkWeight * items.work_of(rows));
  }
  return costs;
}

}  // namespace bulksim
