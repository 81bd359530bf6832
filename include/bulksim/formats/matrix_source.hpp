#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/row_survey.hpp"

namespace bulksim {

/// The properties of a matrix that its file gives.
struct MatrixInfo {
  std::string path;
  std::string format;  ///< "spmat", "store"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;                ///< stored entries
  std::optional<Digest> vocabulary;    ///< digest of the terms of the columns, if there are any
  bool has_ids = false;                ///< the rows have ids
  bool ends_with_last_column = false;  ///< the file does not give the number of columns
};

/// Sparse rows in a file, read by ranges. Any number of threads may read at once.
class MatrixSource {
 public:
  MatrixSource() = default;
  MatrixSource(const MatrixSource&) = delete;
  MatrixSource& operator=(const MatrixSource&) = delete;
  virtual ~MatrixSource() = default;

  virtual const MatrixInfo& info() const = 0;
  /// Rows [range.begin, range.end) as stored, in `out` (whose memory is reused): order, duplicates
  /// and zeros as they are. Columns must be below `columns` and values finite; a fault is an
  /// Error (65) with file, row and entry.
  virtual void read(RowRange range, CsrMatrix& out) const = 0;
  /// What is known about the canonical rows without reading them; null when they must be read.
  virtual const RowSurvey* survey() const = 0;
  /// Ids of the rows, one per row, or none at all.
  virtual StringTable ids() const = 0;
  /// Terms of the columns, one per column, or none at all.
  virtual StringTable terms() const = 0;
};

/// Opens a matrix that is read by ranges, in the format that its name says. Throws Error (66) when
/// there is nothing of that name, and Error (65) when its format is not known, when it is damaged
/// and when it has to be imported first.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path);

/// The same for a file that errors call by another name, as its user does.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path,
                                          const std::string& name);

}  // namespace bulksim
