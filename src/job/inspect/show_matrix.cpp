#include "job/inspect/show_matrix.hpp"

#include <algorithm>
#include <cstdint>
#include <ostream>

#include "bulksim/sparse/row_survey.hpp"
#include "core/text/format_text.hpp"
#include "formats/format_table.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

namespace {

using Json = nlohmann::ordered_json;

Json describe(const MatrixInfo& info, std::int64_t longest_row,
              const CanonicalizationCounts& counts) {
  Json json = {{"schema", 1},
               {"kind", "matrix"},
               {"file", info.path},
               {"format", info.format},
               {"rows", info.rows},
               {"columns", info.columns},
               {"nonzeros", info.nnz},
               {"longest_row", longest_row},
               {"zero_rows", counts.zero_rows},
               {"unsorted_rows", counts.unsorted_rows},
               {"duplicates", counts.duplicates},
               {"explicit_zeros", counts.explicit_zeros},
               {"ids", info.has_ids}};
  json["vocabulary"] = info.vocabulary ? Json(info.vocabulary->hex()) : Json(nullptr);
  return json;
}

Json describe_store(FileCalls& calls, const std::string& path) {
  const auto store = open_block_sparse_store(calls, path, path);
  const RowSurvey& survey = *store->survey();
  Json json = describe(store->info(), survey.longest_row, survey.counts);
  const StoreSizes sizes = read_store_sizes(calls, path);
  json["bytes"] = {{"rows", sizes.rows},
                   {"survey", sizes.survey},
                   {"ids", sizes.ids},
                   {"vocabulary", sizes.vocabulary}};
  json["bytes_per_nonzero"] = store->info().nnz == 0 ? 0.0
                                                     : static_cast<double>(sizes.rows) /
                                                           static_cast<double>(store->info().nnz);
  return json;
}

Json describe_stream(FileCalls& calls, const std::string& path) {
  const auto stream = open_rows(calls, path, {});
  std::int64_t longest = 0;
  std::int64_t row = 0;
  CanonicalizationCounts counts;
  for (CsrMatrix rows; stream->next(rows); row += rows.rows()) {
    counts += canonicalize(rows, Irregular::kAccept, path, row);
    longest = std::max(longest, longest_row(rows.view()));
  }
  return describe(stream->info(), longest, counts);
}

}  // namespace

bool is_matrix(FileCalls& calls, const std::string& path) {
  const std::string place = real_path(calls, path);
  if (is_directory(calls, place)) return find_format(calls, place) != nullptr;
  return !path.ends_with(".h5") || is_block_sparse_store(calls, path);  // or else a result
}

Json describe_matrix(FileCalls& calls, const std::string& path) {
  const bool is_store = format_of(calls, path).open_by_ranges == open_block_sparse_store;
  return is_store ? describe_store(calls, path) : describe_stream(calls, path);
}

void print_matrix(const Json& json, std::ostream& out) {
  const auto rows = json["rows"].get<double>();
  const double mean = rows > 0 ? json["nonzeros"].get<double>() / rows : 0.0;
  out << json["file"].get<std::string>() << " (" << json["format"].get<std::string>() << ")\n"
      << json["rows"] << " rows x " << json["columns"] << " columns, " << json["nonzeros"]
      << " nonzeros (" << formatted("%.2f", mean) << " a row, at most " << json["longest_row"]
      << ")\n"
      << json["zero_rows"] << " rows without values, " << json["unsorted_rows"] << " unsorted, "
      << json["duplicates"] << " duplicates, " << json["explicit_zeros"] << " explicit zeros\n"
      << "rows " << (json["ids"].get<bool>() ? "have ids" : "have no ids") << ", columns "
      << (json["vocabulary"].is_null()
              ? "have no terms"
              : "have terms (digest " + json["vocabulary"].get<std::string>() + ")")
      << '\n';
  if (!json.contains("bytes")) return;
  const Json& bytes = json["bytes"];
  const auto text = [&](const char* what) { return bytes_text(bytes[what].get<std::int64_t>()); };
  out << formatted("%.2f", json["bytes_per_nonzero"].get<double>())
      << " bytes a nonzero (plain CSR: 8.00): rows " << text("rows") << ", survey "
      << text("survey") << ", ids " << text("ids") << ", vocabulary " << text("vocabulary") << '\n';
}

}  // namespace bulksim
