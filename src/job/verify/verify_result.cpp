#include "job/verify/verify_result.hpp"

#include <filesystem>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/files/process_folder.hpp"
#include "core/run/memory.hpp"
#include "core/text/json.hpp"
#include "formats/shared/text_lines.hpp"
#include "job/input/guarded_source.hpp"
#include "job/input/open_input.hpp"
#include "job/input/row_ids.hpp"
#include "job/verify/verification.hpp"

namespace bulksim {

namespace {

std::string range_text(RowRange range) {
  return std::to_string(range.begin) + ".." + std::to_string(range.end - 1);
}

std::string line_of(const Damage& damage) {
  std::string line = damage.file + ": " + damage.what;
  if (damage.tile) {
    line += " (part " + std::to_string(*damage.part) + ", tile " +
            std::to_string(damage.tile->row) + "," + std::to_string(damage.tile->column) +
            ", queries " + range_text(damage.queries) + ", items " + range_text(damage.items) +
            ", byte " + std::to_string(damage.offset) + ")";
  }
  return line;
}

JsonArray range_json(RowRange range) {
  JsonArray json;
  json.add(range.begin).add(range.end);
  return json;
}

JsonObject json_of(const Damage& damage) {
  JsonObject json;
  json.add("file", damage.file).add("what", damage.what);
  if (damage.tile) {
    json.add("part", *damage.part)
        .add("tile", JsonObject().add("row", damage.tile->row).add("column", damage.tile->column))
        .add("queries", range_json(damage.queries))
        .add("items", range_json(damage.items))
        .add("offset", damage.offset);
  }
  return json;
}

/// The rows of both sides in the columns of the run.
SourcePair open_against(FileCalls& calls, const VerifyOptions& options, const std::string& folder,
                        Log& log) {
  const auto open = [&](const std::string& path) {
    const ImportOptions import{options.against.keys, Irregular::kAccept, "", ""};
    auto source = open_input(calls, prepare_input(calls, path, folder, import, log), path,
                             Irregular::kAccept);
    return guarded(std::move(source), kOnlySignals, memory_share());
  };
  const std::string& queries =
      options.against_queries.empty() ? options.against_items : options.against_queries;
  std::optional<NamedVocabulary> vocabulary;
  if (const std::string& path = options.against.vocabulary; !path.empty()) {
    vocabulary = {read_lines(calls, path), path};
  }
  return match_columns({open(queries), open(options.against_items)}, vocabulary);
}

void look_at_pairs(FileCalls& calls, const std::string& path, std::optional<PairFilterSpec> filter,
                   const VerifyOptions& options, Log& log, Verdict& verdict) {
  if (options.against_items.empty()) return verify_pairs(calls, path, nullptr, verdict);
  const ProcessFolder imports(calls, std::filesystem::temp_directory_path(), log);
  const SourcePair inputs = open_against(calls, options, imports.path(), log);
  const std::string& query_ids =
      options.against_queries.empty() ? options.item_ids : options.query_ids;
  const PairReference reference{inputs, filter, options.metric,
                                ResultIds{ids_of(calls, *inputs.queries, query_ids),
                                          ids_of(calls, *inputs.items, options.item_ids)}};
  verify_pairs(calls, path, &reference, verdict);
}

}  // namespace

Verdict verify(FileCalls& calls, const VerifyOptions& options, Log& log) {
  Verdict verdict;
  const std::string folder = version_folder(calls, options.path);
  verdict.path = folder.empty() ? options.path : folder;
  if (folder.empty()) File::open_input(calls, options.path);  // HDF5 would wait for a pipe
  if (folder.empty() && is_pair_result(calls, options.path)) {
    verdict.files = 1;
    if (options.depth != VerifyDepth::kQuick) {
      look_at_pairs(calls, options.path, options.filter, options, log, verdict);
    }
    return verdict;
  }
  if (folder.empty() && !survives_opening(calls, options.path)) {
    verdict.files = 1;
    verdict.damage.push_back({options.path, "makes the HDF5 library crash"});
    return verdict;
  }
  const ResultInfo info = folder.empty() ? verify_file(calls, options.path, verdict)
                                         : verify_version(calls, folder, verdict);
  if (options.depth == VerifyDepth::kQuick) return verdict;
  if (!options.against_items.empty()) require_arithmetic(verdict.path, info.arithmetic_version);
  if (info.filter && verdict.damage.empty()) {
    look_at_pairs(calls, folder + "/similarity.h5", info.filter, options, log, verdict);
  }
  if (!info.parts.has_matrix() && !info.parts.has_partials()) return verdict;
  if (info.parts.has_matrix()) verify_tiles(calls, info, options.threads, verdict);
  if (info.parts.has_partials()) verify_blocks(calls, info, folder, verdict);
  if (!options.against_items.empty()) {
    const ProcessFolder imports(calls, std::filesystem::temp_directory_path(), log);
    verify_against(calls, info, open_against(calls, options, imports.path(), log), verdict);
  }
  return verdict;
}

std::string Verdict::to_json() const {
  JsonArray list;
  for (const Damage& one : damage)
    list.add(json_of(one));
  return JsonObject()
             .add("schema", 1)
             .add("path", path)
             .add("clean", damage.empty())
             .add("checksum", has_checksum)
             .add("files", files)
             .add("tiles", tiles)
             .add("cells", cells)
             .add("damage", list)
             .text(1) +
         "\n";
}

std::string Verdict::to_text() const {
  std::string text;
  for (const Damage& one : damage)
    text += line_of(one) + "\n";
  return text + path + ": " + (damage.empty() ? "clean" : "damaged") + " (" +
         std::to_string(files) + " files, " + std::to_string(tiles) + " tiles read, " +
         std::to_string(cells) + " cells recomputed" +
         (has_checksum ? "" : "; the file holds no checksum, --against recomputes its values") +
         ")\n";
}

}  // namespace bulksim
