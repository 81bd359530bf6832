#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// Rows of a matrix in the order of the file, for formats that are not read by ranges.
class RowStream {
 public:
  RowStream() = default;
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;
  virtual ~RowStream() = default;

  /// Rows, nonzeros and, where they follow from the rows, columns are final after the last `next`.
  virtual const MatrixInfo& info() const = 0;
  /// The next 1,024 rows as stored, fewer only at the end, in `out` (whose memory is reused);
  /// false when none is left. A fault in them is an Error (65) with its location.
  virtual bool next(CsrMatrix& out) = 0;
  /// Ids of the rows that were read, one per row, or none at all.
  virtual const StringTable& ids() const = 0;
  /// Terms of the columns, one per column, or none at all.
  virtual const StringTable& terms() const = 0;
  /// Fraction of the file that was read.
  virtual double progress() const = 0;
};

/// The meaning of the keys of vectors, in formats whose vectors have keys.
enum class VectorKeys {
  kTerms,    ///< strings; every column has a term
  kIndices,  ///< decimal column numbers
};

enum class RowIds {
  kRead,    ///< of the file; they must be unique
  kIgnore,  ///< they come from elsewhere
};

/// Bytes that an entry takes while a stream reads it, with its copies; rounded up.
inline constexpr std::int64_t kBytesOfAnEntry = 32;

/// How a stream is read; a format ignores options that do not apply to it.
struct RowStreamOptions {
  VectorKeys keys = VectorKeys::kTerms;
  RowIds ids = RowIds::kRead;
  /// Terms in the order of the columns, and the file they are from; any other term is an Error.
  std::optional<StringTable> vocabulary = {};
  std::string vocabulary_path = {};
  /// Of a row block, which must be in memory; more are an Error (71).
  std::int64_t most_entries = (std::int64_t{1} << 31) / kBytesOfAnEntry;
};

/// Throws Error (71) when the entries of these rows of a file are more than `most`.
void expect_to_fit(const std::string& path, RowRange rows, std::int64_t entries, std::int64_t most);

/// The rows of a matrix that is read by ranges, one row block after the other.
std::unique_ptr<RowStream> stream_of(std::unique_ptr<MatrixSource> source,
                                     std::int64_t most_entries);

}  // namespace bulksim
