#include <cmath>
#include <span>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "job/plan/plan.hpp"

namespace bulksim {

namespace {

nlohmann::ordered_json side_json(std::int64_t rows, const Digest& content,
                                 const std::optional<IdInfo>& ids) {
  nlohmann::ordered_json json{{"rows", rows}, {"content", content.hex()}};
  if (ids) json["ids"] = {{"digest", ids->digest.hex()}, {"bytes", ids->width}};
  return json;
}

/// Numbers of float32 are numbers of float64: they come back with the same bits.
nlohmann::ordered_json filter_json(const PairFilterSpec& filter) {
  nlohmann::ordered_json json;
  if (std::isfinite(filter.at_least)) json["at_least"] = static_cast<double>(filter.at_least);
  if (std::isfinite(filter.below)) json["below"] = static_cast<double>(filter.below);
  json["nonzero_only"] = filter.nonzero_only;
  json["partners"] = static_cast<int>(filter.partners);
  json["mirrored"] = filter.mirrored;
  json["keep"] = static_cast<int>(filter.keep);
  json["count"] = filter.count;
  json["seed"] = filter.seed;
  json["queries"] = {filter.queries.begin, filter.queries.end};
  json["items"] = {filter.items.begin, filter.items.end};
  return json;
}

PairFilterSpec filter_from(const nlohmann::json& json) {
  PairFilterSpec filter;
  if (json.contains("at_least"))
    filter.at_least = static_cast<float>(json["at_least"].get<double>());
  if (json.contains("below")) filter.below = static_cast<float>(json["below"].get<double>());
  filter.nonzero_only = json.at("nonzero_only").get<bool>();
  filter.partners = static_cast<Partners>(json.at("partners").get<int>());
  filter.mirrored = json.at("mirrored").get<bool>();
  filter.keep = static_cast<Keep>(json.at("keep").get<int>());
  filter.count = json.at("count").get<std::int64_t>();
  filter.seed = json.at("seed").get<std::uint64_t>();
  filter.queries = {json.at("queries").at(0).get<std::int64_t>(),
                    json.at("queries").at(1).get<std::int64_t>()};
  filter.items = {json.at("items").at(0).get<std::int64_t>(),
                  json.at("items").at(1).get<std::int64_t>()};
  return filter;
}

nlohmann::ordered_json selection_json(const TileSelection& selection) {
  return {{"by", selection.blocks.by == SelectBy::kMass ? "mass" : "share"},
          {"bound", selection.blocks.bound},
          {"stride", selection.stride},
          {"softmax_scale", selection.softmax_scale}};
}

TileSelection selection_in(const nlohmann::json& json) {
  const bool by_mass = json.at("by").get<std::string>() == "mass";
  return {{by_mass ? SelectBy::kMass : SelectBy::kShare, json.at("bound").get<double>()},
          json.at("stride").get<std::int64_t>(),
          json.at("softmax_scale").get<double>()};
}

std::optional<IdInfo> ids_in(const nlohmann::json& side) {
  if (!side.contains("ids")) return std::nullopt;
  return IdInfo{Digest::from_hex(side["ids"].at("digest").get<std::string>()),
                side["ids"].at("bytes").get<std::int64_t>()};
}

}  // namespace

std::string metric_name(Metric metric) {
  return metric == Metric::kDot ? "dot" : "cosine";
}

std::string Plan::to_json() const {
  nlohmann::ordered_json json;
  json["format"] = 1;
  json["arithmetic_version"] = kArithmeticVersion;
  json["metric"] = metric_name(arithmetic.metric);
  json["mode"] = filter ? "pairs" : mode == Mode::kBlocks ? "blocks" : "full";
  if (filter) json["pairs"] = filter_json(*filter);
  if (softmax_scale) json["block_sums"] = {{"softmax_scale", *softmax_scale}};
  if (selection) json["selection"] = selection_json(*selection);
  json["dtype"] = value_type == ValueType::kFloat16 ? "float16" : "float32";
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
    if (json.at("metric").get<std::string>() == "dot") plan.arithmetic.metric = Metric::kDot;
    if (json.at("dtype").get<std::string>() == "float16") plan.value_type = ValueType::kFloat16;
    plan.error_bound = json.at("error_bound").get<double>();
    plan.nan_cells = json.at("nan_cells").get<std::int64_t>();
    if (json.at("zero_rows").get<std::string>() == "nan") plan.zero_rows = ZeroRows::kNan;
    if (json.contains("pairs")) plan.filter = filter_from(json["pairs"]);
    if (json.at("mode").get<std::string>() == "blocks") plan.mode = Mode::kBlocks;
    if (json.contains("selection")) plan.selection = selection_in(json["selection"]);
    if (json.contains("block_sums")) {
      plan.softmax_scale = json["block_sums"].at("softmax_scale").get<double>();
    }
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

}  // namespace bulksim
