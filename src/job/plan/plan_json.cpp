#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "bulksim/core/error.hpp"
#include "core/text/json.hpp"
#include "job/plan/plan.hpp"

namespace bulksim {

namespace {

constexpr int kMostBits = 30;  // of a quantized value, which has 32 with its sign

JsonArray range_json(RowRange range) {
  JsonArray json;
  json.add(range.begin).add(range.end);
  return json;
}

/// Throws unless a number of a plan is possible.
void require(bool possible, const std::string& key) {
  if (!possible) throw Error(ExitCode::kDataError, "'" + key + "' is out of range");
}

std::int64_t integer_in(const JsonReader& json, const std::string& key, std::int64_t least,
                        std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const std::int64_t number = json.integer(key);
  require(least <= number && number <= most, key);
  return number;
}

RowRange range_in(const JsonReader& json, const std::string& key) {
  const std::int64_t begin = integer_in(json, key + "/0", 0);
  return {begin, integer_in(json, key + "/1", begin)};
}

JsonObject side_json(std::int64_t rows, const Digest& content, const std::optional<IdInfo>& ids) {
  JsonObject json;
  json.add("rows", rows).add("content", content.hex());
  if (ids) json.add("ids", JsonObject().add("digest", ids->digest.hex()).add("bytes", ids->bytes));
  return json;
}

/// Every float32 is exact as a float64: it is read back with the same bits.
JsonObject filter_json(const PairFilterSpec& filter) {
  JsonObject json;
  if (std::isfinite(filter.at_least)) json.add("at_least", static_cast<double>(filter.at_least));
  if (std::isfinite(filter.below)) json.add("below", static_cast<double>(filter.below));
  json.add("nonzero_only", filter.nonzero_only)
      .add("partners", static_cast<int>(filter.partners))
      .add("mirrored", filter.mirrored)
      .add("keep", static_cast<int>(filter.keep))
      .add("count", filter.count)
      .add("seed", filter.seed)
      .add("queries", range_json(filter.queries))
      .add("items", range_json(filter.items));
  return json;
}

PairFilterSpec filter_in(const JsonReader& json) {
  PairFilterSpec filter;
  if (json.has("pairs/at_least")) {
    filter.at_least = static_cast<float>(json.number("pairs/at_least"));
  }
  if (json.has("pairs/below")) filter.below = static_cast<float>(json.number("pairs/below"));
  filter.nonzero_only = json.boolean("pairs/nonzero_only");
  filter.partners = static_cast<Partners>(
      integer_in(json, "pairs/partners", 0, static_cast<int>(Partners::kNotEarlier)));
  filter.mirrored = json.boolean("pairs/mirrored");
  filter.keep =
      static_cast<Keep>(integer_in(json, "pairs/keep", 0, static_cast<int>(Keep::kSample)));
  filter.count = integer_in(json, "pairs/count", 0);
  filter.seed = json.unsigned_integer("pairs/seed");
  filter.queries = range_in(json, "pairs/queries");
  filter.items = range_in(json, "pairs/items");
  return filter;
}

JsonObject selection_json(const TileSelection& selection) {
  JsonObject json;
  json.add("by", selection.blocks.by == SelectBy::kMass ? "mass" : "share")
      .add("bound", selection.blocks.bound)
      .add("stride", selection.stride)
      .add("softmax_scale", selection.softmax_scale);
  return json;
}

TileSelection selection_in(const JsonReader& json) {
  const bool by_mass = json.text("selection/by") == "mass";
  return {{by_mass ? SelectBy::kMass : SelectBy::kShare, json.number("selection/bound")},
          integer_in(json, "selection/stride", 1),
          json.number("selection/softmax_scale")};
}

std::optional<IdInfo> ids_in(const JsonReader& json, const std::string& side) {
  if (!json.has(side + "/ids")) return std::nullopt;
  return IdInfo{Digest::from_hex(json.text(side + "/ids/digest")),
                integer_in(json, side + "/ids/bytes", 0)};
}

/// A tile is not empty, and no larger than the matrix; cells and bytes can be counted.
TileGrid grid_in(const JsonReader& json) {
  const auto extent = [&](const std::string& side) { return integer_in(json, side + "/rows", 0); };
  const MatrixShape shape{extent("queries"), extent("items")};
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(shape.queries, shape.items, &bytes) &&
              !__builtin_mul_overflow(bytes, std::int64_t{8}, &bytes),
          "rows");
  const auto most = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
  return {shape,
          {integer_in(json, "tile/queries", 1, most(shape.queries)),
           integer_in(json, "tile/items", 1, most(shape.items))}};
}

/// The parts follow each other from the first column of tiles to the last.
std::vector<RowRange> parts_in(const JsonReader& json, const TileGrid& grid) {
  std::vector<RowRange> parts;
  std::int64_t column = 0;
  for (std::int64_t part = 0; part < json.size("parts"); ++part) {
    const std::string key = "parts/" + std::to_string(part);
    parts.push_back(range_in(json, key));
    require(parts.back().begin == column && !parts.back().empty(), key);
    column = parts.back().end;
  }
  require(column == (grid.count() == 0 ? 0 : grid.columns()), "parts");
  return parts;
}

const char* bits_key(int arithmetic_version) {
  return arithmetic_version == kOldArithmeticVersion ? "grid_bits" : "fraction_bits";
}

Plan plan_in(const JsonReader& json) {
  Plan plan;
  const std::int64_t version = json.integer("arithmetic_version");
  if (version != kOldArithmeticVersion && version != kArithmeticVersion) {
    throw Error(ExitCode::kDataError,
                "arithmetic version " + std::to_string(version) + " is unknown");
  }
  plan.arithmetic_version = static_cast<int>(version);
  plan.queries = Digest::from_hex(json.text("queries/content"));
  plan.items = Digest::from_hex(json.text("items/content"));
  plan.columns = integer_in(json, "columns", 0, kMostColumns);
  plan.grid = grid_in(json);
  plan.parts = parts_in(json, plan.grid);
  plan.arithmetic.bits =
      static_cast<int>(integer_in(json, bits_key(plan.arithmetic_version), 1, kMostBits));
  if (json.text("metric") == "dot") plan.arithmetic.metric = Metric::kDot;
  if (json.text("dtype") == "float16") plan.value_type = ValueType::kFloat16;
  plan.error_bound = json.number("error_bound");
  plan.nan_cells = integer_in(json, "nan_cells", 0);
  if (json.text("zero_rows") == "nan") plan.zero_rows = ZeroRows::kNan;
  if (json.has("pairs")) plan.filter = filter_in(json);
  if (json.text("mode") == "blocks") plan.mode = Mode::kBlocks;
  if (json.has("selection")) plan.selection = selection_in(json);
  if (json.has("block_sums")) plan.softmax_scale = json.number("block_sums/softmax_scale");
  plan.query_ids = ids_in(json, "queries");
  plan.item_ids = ids_in(json, "items");
  if (json.has("vocabulary")) plan.vocabulary = Digest::from_hex(json.text("vocabulary"));
  return plan;
}

}  // namespace

std::string metric_name(Metric metric) {
  return metric == Metric::kDot ? "dot" : "cosine";
}

std::string Plan::to_json() const {
  JsonObject json;
  json.add("format", 1)
      .add("arithmetic_version", arithmetic_version)
      .add("metric", metric_name(arithmetic.metric))
      .add("mode", filter                  ? "pairs"
                   : mode == Mode::kBlocks ? "blocks"
                                           : "full");
  if (filter) json.add("pairs", filter_json(*filter));
  if (softmax_scale) json.add("block_sums", JsonObject().add("softmax_scale", *softmax_scale));
  if (selection) json.add("selection", selection_json(*selection));
  json.add("dtype", value_type == ValueType::kFloat16 ? "float16" : "float32")
      .add("queries", side_json(grid.shape().queries, queries, query_ids))
      .add("items", side_json(grid.shape().items, items, item_ids))
      .add("columns", columns);
  if (vocabulary) json.add("vocabulary", vocabulary->hex());
  JsonArray part_columns;
  for (const RowRange& part : parts)
    part_columns.add(range_json(part));
  json.add("zero_rows", zero_rows == ZeroRows::kNan ? "nan" : "zero")
      .add("nan_cells", nan_cells)
      .add(bits_key(arithmetic_version), arithmetic.bits)
      .add("error_bound", error_bound)
      .add("tile", JsonObject().add("queries", grid.tile().queries).add("items", grid.tile().items))
      .add("parts", part_columns);
  return json.text(1) + "\n";
}

Plan Plan::from_json(const std::string& text) {
  const std::string what = "this is not a plan of this version of bulksim";
  try {
    Plan plan = plan_in(JsonReader::parse(text));
    if (plan.to_json() == text) return plan;
  } catch (const Error& error) {
    throw Error(ExitCode::kDataError, what + ": " + error.what());
  }
  throw Error(ExitCode::kDataError, what);
}

Digest Plan::id() const {
  const std::string text = to_json();
  return digest_of(std::as_bytes(std::span(text)));
}

}  // namespace bulksim
