#pragma once

// Shared by many tests: small and stateless helpers.

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim::test {

/// A temporary folder for one test, removed with its content.
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

/// The Error that `call` threw, as "65: sentence"; "nothing" when it threw no Error.
template <class Call>
std::string error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "nothing";
}

/// The entries of one row, in the order of the file.
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

/// Pseudo-random numbers that depend only on the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return mix(seed_, counter_++); }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

/// Canonical rows of 0 to 2 `mean` nonzeros over skewed columns, with negative values among them;
/// every tenth row is empty. A fifth of the rows are sets, times a power of two and some of them
/// negative, and a fifth are short fractions: both are exact when quantized. Values are float32
/// numbers, as in files.
inline CsrMatrix random_rows(std::int64_t rows, std::int64_t columns, std::int64_t mean,
                             std::uint64_t seed) {
  Random random(seed);
  std::vector<Entries> lists(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < lists.size(); ++row) {
    const std::int64_t length = row % 10 == 7 ? 0 : random.below(2 * mean + 1);
    for (std::int64_t entry = 0; entry < length; ++entry) {
      const double skewed = random.unit() * random.unit();
      const auto column = static_cast<Column>(skewed * static_cast<double>(columns));
      double value = random.unit() * 4 - 1;
      if (row % 5 == 1) value = row % 15 == 1 ? -2.0 : 0.25;
      if (row % 5 == 3) value = std::trunc(value * 8) / 8 + 0.0625;
      lists[row].emplace_back(column, static_cast<float>(value));
    }
  }
  CsrMatrix matrix = matrix_of(columns, lists);
  canonicalize(matrix, Irregular::kAccept, "random rows", 0);
  for (double& value : matrix.values)
    value = static_cast<float>(value);
  return matrix;
}

/// The same with nonzero integers from -8 to 24.
inline CsrMatrix integer_rows(std::int64_t rows, std::int64_t columns, std::int64_t mean,
                              std::uint64_t seed) {
  CsrMatrix matrix = random_rows(rows, columns, mean, seed);
  for (double& value : matrix.values) {
    const double whole = std::trunc(value * 8);
    value = whole == 0 ? 1 : whole;
  }
  return matrix;
}

inline QuantizedRows quantized_rows(const CsrMatrix& canonical, FixedPoint arithmetic = kQ26) {
  QuantizedRows rows;
  append_quantized_rows(canonical.view(), arithmetic, rows);
  return rows;
}

/// The whole matrix by definition: one merge per pair. Row-major.
inline std::vector<float> reference(const QuantizedRows& queries, const QuantizedRows& items) {
  std::vector<float> matrix;
  matrix.reserve(static_cast<std::size_t>(queries.rows() * items.rows()));
  for (std::int64_t q = 0; q < queries.rows(); ++q) {
    for (std::int64_t i = 0; i < items.rows(); ++i) {
      matrix.push_back(exact_score(queries, q, items, i));
    }
  }
  return matrix;
}

/// Writes a big-ann .csr file byte by byte according to the format, independently of our writer.
inline void write_csr(const std::string& path, const CsrMatrix& matrix) {
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const auto value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(matrix.rows());
  put(matrix.columns);
  put(matrix.nnz());
  for (const std::int64_t offset : matrix.row_offsets)
    put(offset);
  for (const Column column : matrix.col_indices)
    put(static_cast<std::int32_t>(column));
  for (const double value : matrix.values)
    put(static_cast<float>(value));
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Expects an Error with this code whose sentence contains all of `words`.
template <class Step>
void expect_error(ExitCode code, const std::vector<std::string>& words, Step&& step) {
  try {
    step();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    for (const auto& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
    }
  }
}

}  // namespace bulksim::test
