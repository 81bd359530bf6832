#include "job/inspect/show_result.hpp"

#include <variant>

#include "core/text/format_text.hpp"
#include "storage/result/archive_comment.hpp"

namespace bulksim {

namespace {

using Kind = ResultDescription::Kind;

const char* name_of(Kind kind) {
  if (kind == Kind::kScores) return "similarity";
  return kind == Kind::kPairs ? "pairs" : "block_sums";
}

/// What the result lies in.
std::string place_of(const ResultDescription& result) {
  return result.kind == Kind::kPairs ? result.group : name_of(result.kind);
}

const char* name_of(ValueType type) {
  return type == ValueType::kFloat16 ? "float16" : "float32";
}

void add_attributes(const FileAttributes& attributes, JsonObject& json) {
  const JsonObject values = bulksim::to_json(attributes);
  if (!values.empty()) json.add("attributes", values);
}

std::string text_of(const std::variant<std::int64_t, double, std::string>& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return formatted("%.15g", *real);
  return shown_text(std::get<std::string>(value));
}

JsonArray json_of(const std::vector<ShownPair>& pairs) {
  JsonArray list;
  for (const ShownPair& shown : pairs) {
    JsonObject json;
    json.add("query", shown.pair.query)
        .add("item", shown.pair.item)
        .add("score", static_cast<double>(shown.pair.score));
    if (shown.query_id) json.add("query_id", *shown.query_id);
    if (shown.item_id) json.add("item_id", *shown.item_id);
    list.add(json);
  }
  return list;
}

/// "1000 pairs", "float32" or "8 x 8 blocks of 64 x 512, softmax scale 20".
std::string content_text(const ResultDescription& result) {
  if (result.kind == Kind::kPairs) return std::to_string(result.pairs) + " pairs";
  if (result.kind == Kind::kScores) return name_of(result.value_type);
  return std::to_string(result.blocks.queries) + " x " + std::to_string(result.blocks.items) +
         " blocks of " + std::to_string(result.block.queries) + " x " +
         std::to_string(result.block.items) + formatted(", softmax scale %g", result.softmax_scale);
}

std::string pairs_text(const ResultDescription& result) {
  if (result.strongest.empty()) return "";
  std::string text = "strongest pairs";
  if (result.rows_read < result.shape.queries) {
    text += " of " + std::to_string(result.rows_read) + " rows spread over the matrix";
  }
  text += ":\n     query       item      score\n";
  for (const ShownPair& shown : result.strongest) {
    text += formatted("%10ld %10ld   %10.7f", shown.pair.query, shown.pair.item,
                      static_cast<double>(shown.pair.score));
    for (const auto& id : {shown.query_id, shown.item_id})
      if (id) text += "   " + shown_text(*id);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string ResultDescription::to_json() const {
  JsonObject json;
  json.add("schema", 1)
      .add("kind", name_of(kind))
      .add("file", file)
      .add("queries", shape.queries)
      .add("items", shape.items);
  if (kind == Kind::kScores) json.add("dtype", name_of(value_type));
  if (kind == Kind::kPairs)
    json.add("group", group).add("pairs", pairs).add("rows_read", rows_read);
  if (kind == Kind::kBlockSums) {
    json.add("softmax_scale", softmax_scale)
        .add("blocks", JsonObject().add("rows", blocks.queries).add("columns", blocks.items))
        .add("block", JsonObject().add("queries", block.queries).add("items", block.items));
  }
  if (backend) json.add("backend", *backend);
  if (devices) json.add("devices", *devices);
  add_attributes(attributes, json);
  if (kind == Kind::kScores) json.add("rows_read", rows_read);
  if (kind == Kind::kBlockSums) {
    json.add("strongest", bulksim::to_json(strongest_blocks));
  } else {
    json.add("strongest", json_of(strongest));
  }
  return json.text(1) + "\n";
}

std::string ResultDescription::to_text() const {
  std::string text = file + "\n/" + place_of(*this) + ": " + std::to_string(shape.queries) +
                     " queries x " + std::to_string(shape.items) + " items, " +
                     content_text(*this) + "\n";
  for (const auto& [name, value] : attributes)
    text += "  " + name + " = " + text_of(value) + "\n";
  if (backend) text += "  computed by " + *backend + "\n";
  return text + (kind == Kind::kBlockSums ? bulksim::to_text(strongest_blocks) : pairs_text(*this));
}

}  // namespace bulksim
