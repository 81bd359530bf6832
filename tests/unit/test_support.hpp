#pragma once

// What several tests need. Everything here is small and has no state.

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim::test {

/// A folder of its own for one test; it goes with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "bulksim-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw system_error("create", pattern, errno);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// What `call` threw, as "65: sentence"; "nothing" when it threw no Error.
template <class Call>
std::string error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "nothing";
}

/// One row as its entries, in the order of the file.
using Entries = std::vector<std::pair<Column, double>>;

inline CsrMatrix matrix_of(std::int64_t columns, const std::vector<Entries>& rows) {
  CsrMatrix matrix;
  matrix.columns = columns;
  for (const Entries& row : rows) {
    for (const auto& [column, value] : row) {
      matrix.col_indices.push_back(column);
      matrix.values.push_back(value);
    }
    matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.values.size()));
  }
  return matrix;
}

inline std::vector<Entries> entries_of(const CsrMatrix& matrix) {
  std::vector<Entries> rows;
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    const auto columns = matrix.view().columns_of(row);
    const auto values = matrix.view().values_of(row);
    Entries& entries = rows.emplace_back();
    for (std::size_t at = 0; at < columns.size(); ++at) {
      entries.emplace_back(columns[at], values[at]);
    }
  }
  return rows;
}

}  // namespace bulksim::test
