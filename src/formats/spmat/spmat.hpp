#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "core/files/staged_file.hpp"

namespace bulksim {

/// A big-ann `.csr` file, native little-endian, without magic or version:
///
///   int64 rows, int64 columns, int64 nnz        at 0
///   int64 row_offsets[rows + 1]                 at 24
///   int32 col_indices[nnz]                      at 24 + 8 (rows + 1)
///   float32 values[nnz]                         at 24 + 8 (rows + 1) + 4 nnz
///
/// The header is compared with the size of the file before anything is allocated. `name` is what
/// errors call the file.
std::unique_ptr<MatrixSource> open_spmat(FileCalls& calls, const std::string& path,
                                         const std::string& name);

/// Writes a `.csr` file from row lengths, which are known first, and rows in order; the file
/// appears under its name when `finish` returns.
class SpmatWriter {
 public:
  /// `row_offsets` has rows + 1 entries from 0; `columns` is at most 2^31.
  SpmatWriter(FileCalls& calls, std::string path, std::int64_t columns,
              std::vector<std::int64_t> row_offsets);
  ~SpmatWriter() = default;
  SpmatWriter(const SpmatWriter&) = delete;
  SpmatWriter& operator=(const SpmatWriter&) = delete;

  /// The next rows, of the lengths given by `row_offsets`; values are stored as float32. Throws
  /// Error (65) for a value outside the range of float32.
  void append(CsrView rows);
  /// Makes the file durable under its name; every row must be there.
  void finish();

 private:
  void write_values(std::span<const double> values, std::int64_t at);

  std::int64_t columns_;
  std::vector<std::int64_t> row_offsets_;
  StagedFile staged_;
  std::int64_t next_row_ = 0;
};

}  // namespace bulksim
