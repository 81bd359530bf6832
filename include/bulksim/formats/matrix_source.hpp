#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// What a file says of the matrix in it.
struct MatrixInfo {
  std::string path;
  std::string format;  ///< "spmat"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;  ///< stored entries
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
};

/// Opens a matrix by its name; throws Error (66) when it is not there and Error (65) when it is
/// damaged or of no known format.
std::unique_ptr<MatrixSource> open_matrix(FileCalls& calls, const std::string& path);

}  // namespace bulksim
