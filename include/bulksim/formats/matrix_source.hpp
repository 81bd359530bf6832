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

/// What a file says of the matrix in it.
struct MatrixInfo {
  std::string path;
  std::string format;  ///< "spmat", "store"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;                ///< stored entries
  std::optional<Digest> vocabulary;    ///< digest of the terms that name the columns, if any do
  bool has_ids = false;                ///< the rows have names
  bool ends_with_last_column = false;  ///< the file does not say how many columns there are
};

/// Sparse rows in a file, read by ranges. Any number of threads may read at once.
class MatrixSource {
 public:
  MatrixSource() = default;
  MatrixSource(const MatrixSource&) = delete;
  MatrixSource& operator=(const MatrixSource&) = delete;
  virtual ~MatrixSource() = default;

  virtual const MatrixInfo& info() const = 0;
  /// Rows [range.begin, range.end) as stored, in `out` (whose memory is used again): order,
  /// duplicates and zeros as they are. Every column is checked against `columns` and every value
  /// for being finite; what is wrong is an Error (65) with file, row and entry.
  virtual void read(RowRange range, CsrMatrix& out) const = 0;
  /// What is known of the canonical rows without reading them; null where they have to be read.
  virtual const RowSurvey* survey() const = 0;
  /// Names of the rows, one a row, or none at all.
  virtual StringTable ids() const = 0;
  /// Names of the columns, one a column, or none at all.
  virtual StringTable terms() const = 0;
};

/// Formats by the names of files.
enum class MatrixFormat {
  kSpmat,  ///< .csr
  kStore,  ///< .h5, made by an import
  kNpz,    ///< .npz of scipy
  kJsonl,  ///< .jsonl, .jsonl.gz, or a folder of them
};

/// Throws Error (66) when there is nothing of that name and Error (65) when its name belongs to no
/// known format.
MatrixFormat format_of(FileCalls& calls, const std::string& path);

/// Whether files of a format are read by ranges of rows; the others are imported first.
bool is_read_by_ranges(MatrixFormat format);

/// Opens a matrix that is read by ranges; throws as `format_of`, and Error (65) when the file is
/// damaged or has to be imported first.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path);

}  // namespace bulksim
