#include "job/input/import_report.hpp"

#include <vector>

#include <nlohmann/json.hpp>

#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

/// "2 duplicates summed", one for each count that is not zero.
std::vector<std::string> irregularities(const CanonicalizationCounts& counts) {
  std::vector<std::string> found;
  for (const auto& field : CanonicalizationCounts::fields()) {
    const std::int64_t count = counts.*field.count;
    if (count > 0) found.push_back(std::to_string(count) + " " + field.meaning);
  }
  return found;
}

}  // namespace

double ImportReport::bytes_per_nonzero() const {
  return nnz == 0 ? 0.0 : static_cast<double>(sizes.rows) / static_cast<double>(nnz);
}

std::string ImportReport::text() const {
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
  const nlohmann::ordered_json report = {{"schema", 1},
                                         {"source", source.path},
                                         {"format", source.format},
                                         {"store", store},
                                         {"rows", source.rows},
                                         {"columns", source.columns},
                                         {"nonzeros", nnz},
                                         {"longest_row", longest_row},
                                         {"bytes_per_nonzero", bytes_per_nonzero()},
                                         {"bytes",
                                          {{"rows", sizes.rows},
                                           {"survey", sizes.survey},
                                           {"ids", sizes.ids},
                                           {"vocabulary", sizes.vocabulary}}},
                                         {"counts",
                                          {{"zero_rows", counts.zero_rows},
                                           {"unsorted_rows", counts.unsorted_rows},
                                           {"duplicates", counts.duplicates},
                                           {"explicit_zeros", counts.explicit_zeros}}},
                                         {"seconds", seconds}};
  return report.dump(2) + "\n";
}

}  // namespace bulksim
