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

/// Properties of a matrix according to its file.
struct MatrixInfo {
  std::string path;
  std::string format;  ///< "spmat", "store"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;                ///< stored entries
  std::optional<Digest> vocabulary;    ///< digest of the terms of the columns, if any
  bool has_ids = false;                ///< the rows have ids
  bool ends_with_last_column = false;  ///< the file does not store the number of columns
};

/// Sparse rows in a file, read by ranges. Threads may read concurrently.
class MatrixSource {
 public:
  MatrixSource() = default;
  MatrixSource(const MatrixSource&) = delete;
  MatrixSource& operator=(const MatrixSource&) = delete;
  virtual ~MatrixSource() = default;

  virtual const MatrixInfo& info() const = 0;
  /// Entries for which `read` takes memory: those of the rows, or of their row blocks.
  virtual std::int64_t entries_of(RowRange range) const = 0;
  /// Reads rows [range.begin, range.end) into `out`, whose memory is reused. Order, duplicates and
  /// zeros are as stored. Throws Error (65) with file, row and entry for a column of at least
  /// `columns` or a value that is not finite.
  virtual void read(RowRange range, CsrMatrix& out) const = 0;
  /// What the file records about its canonical rows; null when they must be read to find out.
  virtual const RowSurvey* survey() const = 0;
  /// Ids, one per row; empty when the rows have none.
  virtual StringTable ids() const = 0;
  /// Terms, one per column; empty when the columns have none.
  virtual StringTable terms() const = 0;
};

/// Opens a matrix that is read by ranges; the file name determines the format. Throws Error (66)
/// when the file does not exist, and Error (65) when its format is unknown, it is damaged, or it
/// must be imported first.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path);

/// The same; errors call the file `name`, as the user does.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path,
                                          const std::string& name);

}  // namespace bulksim
