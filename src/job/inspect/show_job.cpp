#include "job/inspect/show_job.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "core/text/json.hpp"
#include "job/blocks/strongest_blocks.hpp"
#include "job/inspect/show_matrix.hpp"
#include "job/inspect/show_result.hpp"
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

constexpr std::int64_t kCellsToRead = std::int64_t{1} << 28;  // 1 GiB: about a second from memory

/// Rows to read: all, or as many as can be read in about a second, spread over the matrix.
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

/// Adjacent rows are read together.
std::vector<ScoredPair> strongest_pairs(const SimilarityReader& result, std::int64_t most,
                                        const std::vector<std::int64_t>& rows) {
  const TileGrid& grid = result.grid();
  const bool self = find_attribute<std::string>(result.attributes(), "queries_content") ==
                    find_attribute<std::string>(result.attributes(), "items_content");
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

std::optional<std::string> id_in(const StringTable& ids, std::int64_t row) {
  if (ids.empty()) return std::nullopt;
  return std::string(ids[row]);
}

/// The backend in the report beside a result; a single-file result has no report.
void add_backend(FileCalls& calls, ResultDescription& description) {
  const std::string& file = description.file;
  const std::string report = file.substr(0, file.rfind('/') + 1) + "report.json";
  if (!exists(calls, report)) return;
  const JsonReader json = JsonReader::parse_or_empty(read_text(calls, report));
  description.backend = json.find_text("backend");
  if (description.backend) description.devices = json.find_texts("devices");
}

ResultDescription describe_scores(FileCalls& calls, const std::string& path, std::int64_t most) {
  const auto result = SimilarityReader::open(calls, path);
  const auto rows = rows_to_read(result.grid());
  ResultDescription description;
  description.file = result.file();
  description.shape = result.grid().shape();
  description.value_type = result.value_type();
  add_backend(calls, description);
  description.attributes = result.attributes();
  description.rows_read = std::ssize(rows);
  for (const ScoredPair& pair : strongest_pairs(result, most, rows)) {
    description.strongest.push_back({pair, id_in(result.query_ids({pair.query, pair.query + 1}), 0),
                                     id_in(result.item_ids({pair.item, pair.item + 1}), 0)});
  }
  return description;
}

/// Reads every pair, some millions at a time.
ResultDescription describe_pairs(const PairFileReader& result, const std::string& path,
                                 std::int64_t most) {
  constexpr std::int64_t kPairsAtOnce = std::int64_t{4} << 20;
  const std::int64_t queries = result.shape().queries;
  ResultDescription description;
  StrongestPairs strongest(most);
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
        if (items[at] < 0) continue;  // an unused place
        ++description.pairs;
        strongest.add({scores[at], query, items[at]});
      }
    }
  }
  description.kind = ResultDescription::Kind::kPairs;
  description.file = path;
  description.group = result.group();
  description.shape = result.shape();
  description.rows_read = queries;
  description.attributes = result.attributes();
  const ResultIds ids = result.ids();
  for (const ScoredPair& pair : strongest.sorted()) {
    description.strongest.push_back(
        {pair, id_in(ids.queries, pair.query), id_in(ids.items, pair.item)});
  }
  return description;
}

/// The plan of a version with block sums and without scores; none for any other result.
std::optional<Plan> plan_of_blocks(FileCalls& calls, const std::string& path) {
  const std::string folder = version_folder(calls, path);
  if (folder.empty() || !exists(calls, folder + "/PLAN.json")) return std::nullopt;
  Plan plan = Plan::from_json(read_text(calls, folder + "/PLAN.json"));
  if (plan.mode != Mode::kBlocks) return std::nullopt;
  return plan;
}

ResultDescription describe_blocks(FileCalls& calls, const std::string& path, const Plan& plan,
                                  std::int64_t most) {
  const std::string file = version_folder(calls, path) + "/similarity.h5";
  const auto map = read_block_map(calls, file);
  if (!map) throw damaged(file, "lacks its block sums");
  ResultDescription description;
  description.kind = ResultDescription::Kind::kBlockSums;
  description.file = file;
  description.shape = plan.grid.shape();
  description.softmax_scale = map->softmax_scale;
  description.blocks = {map->rows, map->columns};
  description.block = map->block();
  add_backend(calls, description);
  description.attributes = attributes_of(plan);
  description.strongest_blocks = strongest_blocks(*map, most);
  return description;
}

ResultDescription describe_result(FileCalls& calls, const std::string& path, std::int64_t most) {
  if (const auto pairs = PairFileReader::open(calls, path)) {
    return describe_pairs(*pairs, path, most);
  }
  if (const auto plan = plan_of_blocks(calls, path)) {
    return describe_blocks(calls, path, *plan, most);
  }
  return describe_scores(calls, path, most);
}

}  // namespace

void show(FileCalls& calls, const std::string& path, std::int64_t pairs, ShowFormat format,
          std::ostream& out) {
  const bool json = format == ShowFormat::kJson;
  if (is_matrix(calls, path)) {
    const MatrixDescription matrix = describe_matrix(calls, path);
    out << (json ? matrix.to_json() : matrix.to_text());
  } else {
    const ResultDescription result = describe_result(calls, path, pairs);
    out << (json ? result.to_json() : result.to_text());
  }
}

}  // namespace bulksim
