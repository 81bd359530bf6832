#include "job/input/import_report.hpp"

#include <vector>

#include "core/text/format_text.hpp"
#include "core/text/json.hpp"

namespace bulksim {

namespace {

/// "2 duplicates summed", one for each count that is not zero.
std::vector<std::string> irregularities(const CanonicalizationCounts& counts) {
  std::vector<std::string> found;
  for (const auto& [meaning, number] : counts.all()) {
    if (number > 0) found.push_back(std::to_string(number) + " " + meaning);
  }
  return found;
}

}  // namespace

double ImportReport::bytes_per_nonzero() const {
  return nnz == 0 ? 0.0 : static_cast<double>(sizes.rows) / static_cast<double>(nnz);
}

std::string ImportReport::to_text() const {
  std::string text =
      "'" + source.path + "' (" + source.format + "): " + std::to_string(source.rows) + " rows, " +
      std::to_string(source.columns) + " columns, " + std::to_string(nnz) + " nonzeros in " +
      formatted("%.2f", bytes_per_nonzero()) + " bytes each (plain CSR: 8.00); survey " +
      bytes_text(sizes.survey) + ", ids " + bytes_text(sizes.ids) + ", vocabulary " +
      bytes_text(sizes.vocabulary);
  for (const std::string& one : irregularities(counts))
    text += ", " + one;
  return text + "; " + formatted("%.1f", seconds) + " s";
}

std::string ImportReport::to_json(const std::string& store) const {
  JsonObject json;
  json.add("schema", 1)
      .add("source", source.path)
      .add("format", source.format)
      .add("store", store)
      .add("rows", source.rows)
      .add("columns", source.columns)
      .add("nonzeros", nnz)
      .add("longest_row", longest_row)
      .add("bytes_per_nonzero", bytes_per_nonzero())
      .add("bytes", JsonObject()
                        .add("rows", sizes.rows)
                        .add("survey", sizes.survey)
                        .add("ids", sizes.ids)
                        .add("vocabulary", sizes.vocabulary))
      .add("counts", JsonObject()
                         .add("zero_rows", counts.zero_rows)
                         .add("unsorted_rows", counts.unsorted_rows)
                         .add("duplicates", counts.duplicates)
                         .add("explicit_zeros", counts.explicit_zeros))
      .add("seconds", seconds);
  return json.text(2) + "\n";
}

}  // namespace bulksim
