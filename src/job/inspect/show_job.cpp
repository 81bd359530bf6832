#include "job/inspect/show_job.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "job/blocks/strongest_blocks.hpp"
#include "job/inspect/show_matrix.hpp"
#include "job/inspect/strongest_pairs.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/plan.hpp"
#include "job/publish/publication.hpp"
#include "job/verify/verification.hpp"
#include "storage/damaged.hpp"
#include "storage/result/block_map.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kCellsToRead = std::int64_t{1} << 28;  // 1 GiB: about a second from memory

std::string attribute_text(const FileAttributes& attributes, const std::string& name) {
  for (const auto& [key, value] : attributes) {
    if (key == name && std::holds_alternative<std::string>(value)) {
      return std::get<std::string>(value);
    }
  }
  return "";
}

/// Rows of tiles to look at: all, or as many as can be read, spread over the matrix.
std::vector<std::int64_t> rows_to_read(const TileGrid& grid) {
  const std::int64_t items = std::max<std::int64_t>(grid.shape().items, 1);
  const std::int64_t rows =
      std::min(grid.shape().queries, std::max<std::int64_t>(kCellsToRead / items, 1));
  std::vector<std::int64_t> chosen;
  for (std::int64_t row = 0; row < rows; ++row) {
    chosen.push_back(static_cast<std::int64_t>(static_cast<double>(row) *
                                               static_cast<double>(grid.shape().queries) /
                                               static_cast<double>(rows)));
  }
  return chosen;
}

/// Neighbouring rows are read together.
std::vector<ScoredPair> strongest_pairs(const SimilarityReader& result, std::int64_t most,
                                        const std::vector<std::int64_t>& rows) {
  const TileGrid& grid = result.grid();
  const bool self = attribute_text(result.attributes(), "queries_content") ==
                    attribute_text(result.attributes(), "items_content");
  StrongestPairs strongest(most);
  for (std::size_t at = 0; at < rows.size();) {
    std::size_t next = at + 1;
    while (next < rows.size() && rows[next] == rows[next - 1] + 1 &&
           rows[next] - rows[at] < grid.tile().queries) {
      ++next;
    }
    const RowRange queries{rows[at], rows[next - 1] + 1};
    for (std::int64_t column = 0; column < grid.columns(); ++column) {
      const RowRange items = grid.items(column);
      const auto scores = result.read(queries, items);
      std::size_t cell = 0;
      for (std::int64_t q = queries.begin; q < queries.end; ++q) {
        for (std::int64_t i = items.begin; i < items.end; ++i, ++cell) {
          if (!self || q != i) strongest.add({scores[cell], q, i});
        }
      }
    }
    at = next;
  }
  return strongest.sorted();
}

void add_id(const StringTable& name, const char* key, Json& pair) {
  if (!name.empty()) pair[key] = name[0];
}

/// What the report beside a result says of its making; a result that is one file has none.
void add_backend(FileCalls& calls, const std::string& file, Json& json) {
  const std::string report = file.substr(0, file.rfind('/') + 1) + "report.json";
  if (!exists(calls, report)) return;
  const auto told = Json::parse(read_text(calls, report), nullptr, false);
  if (!told.is_object() || !told.contains("backend")) return;
  json["backend"] = told["backend"];
  if (told.contains("devices")) json["devices"] = told["devices"];
}

void add_attributes(const FileAttributes& attributes, Json& json) {
  for (const auto& [name, value] : attributes)
    std::visit([&, key = name](const auto& held) { json["attributes"][key] = held; }, value);
}

Json describe_scores(FileCalls& calls, const std::string& path, std::int64_t most) {
  const auto result = SimilarityReader::open(calls, path);
  const auto rows = rows_to_read(result.grid());
  Json json;
  json["schema"] = 1;
  json["kind"] = "similarity";
  json["file"] = result.file();
  json["queries"] = result.grid().shape().queries;
  json["items"] = result.grid().shape().items;
  json["dtype"] = result.value_type() == ValueType::kFloat16 ? "float16" : "float32";
  add_backend(calls, result.file(), json);
  add_attributes(result.attributes(), json);
  json["rows_read"] = rows.size();
  json["strongest"] = Json::array();
  for (const ScoredPair& pair : strongest_pairs(result, most, rows)) {
    Json one{{"query", pair.query}, {"item", pair.item}, {"score", pair.score}};
    add_id(result.query_ids({pair.query, pair.query + 1}), "query_id", one);
    add_id(result.item_ids({pair.item, pair.item + 1}), "item_id", one);
    json["strongest"].push_back(std::move(one));
  }
  return json;
}

/// Every pair is looked at, some million at a time.
Json describe_pairs(const PairFileReader& result, const std::string& path, std::int64_t most) {
  constexpr std::int64_t kPairsAtOnce = std::int64_t{4} << 20;
  const std::int64_t queries = result.shape().queries;
  StrongestPairs strongest(most);
  std::int64_t count = 0;
  std::vector<std::int64_t> items;
  std::vector<float> scores;
  for (RowRange band{0, 0}; band.begin < queries; band.begin = band.end) {
    band.end = band.begin + 1;
    while (band.end < queries && result.places({band.begin, band.end + 1}) < kPairsAtOnce)
      ++band.end;
    result.read(band, items, scores);
    std::size_t at = 0;
    for (std::int64_t query = band.begin; query < band.end; ++query) {
      const std::int64_t places = result.places({query, query + 1});
      for (const std::size_t end = at + static_cast<std::size_t>(places); at < end; ++at) {
        if (items[at] < 0) continue;  // a place left over
        ++count;
        strongest.add({scores[at], query, items[at]});
      }
    }
  }
  Json json{{"schema", 1},
            {"kind", "pairs"},
            {"file", path},
            {"queries", queries},
            {"items", result.shape().items},
            {"pairs", count},
            {"rows_read", queries}};
  add_attributes(result.attributes(), json);
  const ResultIds ids = result.ids();
  json["strongest"] = Json::array();
  for (const ScoredPair& pair : strongest.sorted()) {
    Json one{{"query", pair.query}, {"item", pair.item}, {"score", pair.score}};
    if (!ids.queries.empty()) one["query_id"] = std::string(ids.queries[pair.query]);
    if (!ids.items.empty()) one["item_id"] = std::string(ids.items[pair.item]);
    json["strongest"].push_back(std::move(one));
  }
  return json;
}

/// The plan of a version that holds block sums and no scores; nothing for any other result.
std::optional<Plan> plan_of_blocks(FileCalls& calls, const std::string& path) {
  const std::string folder = version_folder(calls, path);
  if (folder.empty() || !exists(calls, folder + "/PLAN.json")) return std::nullopt;
  Plan plan = Plan::from_json(read_text(calls, folder + "/PLAN.json"));
  if (plan.mode != Mode::kBlocks) return std::nullopt;
  return plan;
}

Json describe_blocks(FileCalls& calls, const std::string& path, const Plan& plan,
                     std::int64_t most) {
  const std::string file = version_folder(calls, path) + "/similarity.h5";
  const auto map = read_block_map(calls, file);
  if (!map) throw damaged(file, "lacks its block sums");
  Json json{{"schema", 1},
            {"kind", "block_sums"},
            {"file", file},
            {"queries", plan.grid.shape().queries},
            {"items", plan.grid.shape().items},
            {"softmax_scale", map->softmax_scale},
            {"blocks", {{"rows", map->rows}, {"columns", map->columns}}},
            {"block", {{"queries", map->block().queries}, {"items", map->block().items}}}};
  add_backend(calls, file, json);
  add_attributes(attributes_of(plan), json);
  json["strongest"] = strongest_blocks(*map, most);
  return json;
}

Json describe_result(FileCalls& calls, const std::string& path, std::int64_t most) {
  if (const auto pairs = PairFileReader::open(calls, path)) {
    return describe_pairs(*pairs, path, most);
  }
  if (const auto plan = plan_of_blocks(calls, path)) {
    return describe_blocks(calls, path, *plan, most);
  }
  return describe_scores(calls, path, most);
}

/// "1000 pairs", "float32" or "8 x 8 blocks of 64 x 512, softmax scale 20".
std::string content_text(const Json& json) {
  if (json.contains("pairs")) return json["pairs"].dump() + " pairs";
  if (json.contains("dtype")) return json["dtype"].get<std::string>();
  return json["blocks"]["rows"].dump() + " x " + json["blocks"]["columns"].dump() + " blocks of " +
         json["block"]["queries"].dump() + " x " + json["block"]["items"].dump() +
         formatted(", softmax scale %g", json["softmax_scale"].get<double>());
}

void print_pairs(const Json& json, std::ostream& out) {
  if (json["strongest"].empty()) return;
  out << "strongest pairs";
  if (json["rows_read"] < json["queries"]) {
    out << " of " << json["rows_read"] << " rows spread over the matrix";
  }
  out << ":\n     query       item      score\n";
  for (const auto& pair : json["strongest"]) {
    out << formatted("%10lld %10lld   %10.7f", pair["query"].get<long long>(),
                     pair["item"].get<long long>(), pair["score"].get<double>());
    for (const char* key : {"query_id", "item_id"})
      out << (pair.contains(key) ? "   " + pair[key].get<std::string>() : "");
    out << '\n';
  }
}

void print_result(const Json& json, std::ostream& out) {
  out << json["file"].get<std::string>() << '\n'
      << '/' << json["kind"].get<std::string>() << ": " << json["queries"] << " queries x "
      << json["items"] << " items, " << content_text(json) << '\n';
  for (const auto& [name, value] : json["attributes"].items()) {
    out << "  " << name << " = " << (value.is_string() ? value.get<std::string>() : value.dump())
        << '\n';
  }
  if (json.contains("backend")) {
    out << "  computed by " << json["backend"].get<std::string>() << '\n';
  }
  if (json["kind"] == "block_sums") {
    print_blocks(json["strongest"], out);
  } else {
    print_pairs(json, out);
  }
}

}  // namespace

void show(FileCalls& calls, const std::string& path, std::int64_t pairs, ShowFormat format,
          std::ostream& out) {
  const bool matrix = is_matrix(calls, path);
  const Json json = matrix ? describe_matrix(calls, path) : describe_result(calls, path, pairs);
  if (format == ShowFormat::kJson) {
    out << json.dump(1) << '\n';
  } else if (matrix) {
    print_matrix(json, out);
  } else {
    print_result(json, out);
  }
}

}  // namespace bulksim
