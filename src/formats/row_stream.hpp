#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
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

  /// Rows, nonzeros and, where only the rows tell them, columns are final after the last `next`.
  virtual const MatrixInfo& info() const = 0;
  /// The next 1,024 rows as stored, fewer only at the end, in `out` (whose memory is used again);
  /// false when none is left. What is wrong in them is an Error (65) with its place.
  virtual bool next(CsrMatrix& out) = 0;
  /// Names of the rows that were read, one a row, or none at all.
  virtual const StringTable& ids() const = 0;
  /// Names of the columns, one a column, or none at all.
  virtual const StringTable& terms() const = 0;
  /// How much of the file was read, between 0 and 1.
  virtual double progress() const = 0;
};

/// A matrix that scipy.sparse.save_npz wrote, compressed or not: csr, csc or coo; values of any
/// integer, float or bool type up to 64 bits, of either byte order; 32 or 64-bit indices.
///
/// csr is read with bounded memory. csc and coo take 8 bytes a row, and at most 1 GiB for the
/// entries of as many rows as fit: the file is read once for each time that is filled.
std::unique_ptr<RowStream> open_npz(FileCalls& calls, const std::string& path);

/// What the keys of JSONL vectors are.
enum class VectorKeys {
  kTerms,    ///< texts; a column is named by its term
  kIndices,  ///< decimal numbers of columns
};

enum class JsonlIds {
  kRead,    ///< "id", "_id" or "docid": a text or an integer, different in each row
  kIgnore,  ///< the rows get their names elsewhere
};

struct JsonlOptions {
  VectorKeys keys = VectorKeys::kTerms;
  JsonlIds ids = JsonlIds::kRead;
  /// Terms in the order of the columns, and the file they are from; a term outside is an Error.
  std::optional<StringTable> vocabulary = {};
  std::string vocabulary_path = {};
};

/// One JSON object a line, {"id": ..., "vector": {term: weight, ...}}, in a file, a gzip file or
/// the files of a folder in the order of their names.
///
/// Without a vocabulary the columns are the terms that occur, sorted by their bytes; they are
/// collected here, in a first pass over the files.
std::unique_ptr<RowStream> open_jsonl(FileCalls& calls, const std::string& path,
                                      JsonlOptions options);

/// The rows of a matrix that is read by ranges, one row block after the other.
std::unique_ptr<RowStream> stream_of(std::unique_ptr<MatrixSource> source);

/// Opens a file of any known format; throws as `format_of`. The options are for JSONL alone.
std::unique_ptr<RowStream> open_rows(FileCalls& calls, const std::string& path,
                                     JsonlOptions options);

}  // namespace bulksim
