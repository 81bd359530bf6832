#include "job/inspect/show_matrix.hpp"

#include <algorithm>

#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "formats/format_table.hpp"
#include "formats/shared/row_stream.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

namespace {

MatrixDescription describe_store(FileCalls& calls, const std::string& path) {
  const auto store = open_block_sparse_store(calls, path, path);
  const RowSurvey& survey = *store->survey();
  return {store->info(), survey.longest_row, survey.rounding, survey.counts,
          read_store_sizes(calls, path)};
}

MatrixDescription describe_stream(FileCalls& calls, const std::string& path) {
  const auto stream = open_rows(calls, path, {});
  MatrixDescription matrix;
  ValueInfo values;
  std::int64_t row = 0;
  for (CsrMatrix rows; stream->next(rows); row += rows.rows()) {
    matrix.counts += canonicalize(rows, Irregular::kAccept, path, row);
    matrix.longest_row = std::max(matrix.longest_row, longest_row(rows.view()));
    values += value_info(rows.view());
  }
  matrix.rounding = values.rounding;
  matrix.info = stream->info();
  return matrix;
}

}  // namespace

bool is_matrix(FileCalls& calls, const std::string& path) {
  const std::string place = real_path(calls, path);
  if (is_directory(calls, place)) return find_format(calls, place) != nullptr;
  return !path.ends_with(".h5") || is_block_sparse_store(calls, path);  // otherwise a result
}

MatrixDescription describe_matrix(FileCalls& calls, const std::string& path) {
  const bool is_store = format_of(calls, path).open_by_ranges == open_block_sparse_store;
  return is_store ? describe_store(calls, path) : describe_stream(calls, path);
}

double MatrixDescription::bytes_per_nonzero() const {
  if (!sizes || info.nnz == 0) return 0.0;
  return static_cast<double>(sizes->rows) / static_cast<double>(info.nnz);
}

std::string MatrixDescription::to_json() const {
  JsonObject json;
  json.add("schema", 1)
      .add("kind", "matrix")
      .add("file", info.path)
      .add("format", info.format)
      .add("rows", info.rows)
      .add("columns", info.columns)
      .add("nonzeros", info.nnz)
      .add("longest_row", longest_row)
      .add("zero_rows", counts.zero_rows)
      .add("unsorted_rows", counts.unsorted_rows)
      .add("duplicates", counts.duplicates)
      .add("explicit_zeros", counts.explicit_zeros)
      .add("ids", info.has_ids)
      .add("vocabulary", nullptr);
  if (rounding) json.add("exact_rows", rounding->exact_rows);
  if (info.vocabulary) json.add("vocabulary", info.vocabulary->hex());
  if (sizes) {
    json.add("bytes", JsonObject()
                          .add("rows", sizes->rows)
                          .add("survey", sizes->survey)
                          .add("ids", sizes->ids)
                          .add("vocabulary", sizes->vocabulary))
        .add("bytes_per_nonzero", bytes_per_nonzero());
  }
  return json.text(1) + "\n";
}

std::string MatrixDescription::to_text() const {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const double mean =
      info.rows > 0 ? static_cast<double>(info.nnz) / static_cast<double>(info.rows) : 0.0;
  std::string text = info.path + " (" + info.format + ")\n" + number(info.rows) + " rows x " +
                     number(info.columns) + " columns, " + number(info.nnz) + " nonzeros (" +
                     formatted("%.2f", mean) + " per row, at most " + number(longest_row) + ")\n";
  text += number(counts.zero_rows) + " empty rows, " + number(counts.unsorted_rows) +
          " unsorted, " + number(counts.duplicates) + " duplicates, " +
          number(counts.explicit_zeros) + " explicit zeros";
  if (rounding) text += ", " + number(rounding->exact_rows) + " exact (integers times 2^e)";
  text += "\n";
  text +=
      std::string("rows ") + (info.has_ids ? "have ids" : "have no ids") + ", columns " +
      (info.vocabulary ? "have terms (digest " + info.vocabulary->hex() + ")" : "have no terms") +
      "\n";
  if (!sizes) return text;
  return text + formatted("%.2f", bytes_per_nonzero()) +
         " bytes per nonzero (plain CSR: 8.00): rows " + bytes_text(sizes->rows) + ", survey " +
         bytes_text(sizes->survey) + ", ids " + bytes_text(sizes->ids) + ", vocabulary " +
         bytes_text(sizes->vocabulary) + "\n";
}

}  // namespace bulksim
