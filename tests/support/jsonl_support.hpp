#pragma once

// Writes rows as lines of JSON, independently of our reader.

#include <cstdint>
#include <cstdio>
#include <string>

#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim::test {

/// Ids of rows and terms of columns: a prefix and the number; for a column, with `digits` digits.
struct JsonlNames {
  std::string row = "r";
  std::string column = {};
  int digits = 4;
};

inline std::string numbered(const std::string& prefix, std::int64_t number, int digits = 1) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*lld", digits, static_cast<long long>(number));
  return prefix + text;
}

/// Lines {"id": "<row>", "vector": {"<column>": value, ...}}; values are written exactly.
inline std::string jsonl_of(const CsrMatrix& matrix, const JsonlNames& names = {}) {
  std::string text;
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    text += "{\"id\": \"" + numbered(names.row, row) + "\", \"vector\": {";
    const auto columns = matrix.view().columns_of(row);
    for (std::size_t at = 0; at < columns.size(); ++at) {
      char value[32];
      std::snprintf(value, sizeof value, "\": %.17g", matrix.view().values_of(row)[at]);
      text += at == 0 ? "\"" : ", \"";
      text += numbered(names.column, columns[at], names.digits) + value;
    }
    text += "}}\n";
  }
  return text;
}

/// Numbered strings with this prefix, from 0, one per line.
inline std::string numbered_lines(const std::string& prefix, std::int64_t count, int digits = 1) {
  std::string text;
  for (std::int64_t number = 0; number < count; ++number)
    text += numbered(prefix, number, digits) + "\n";
  return text;
}

}  // namespace bulksim::test
