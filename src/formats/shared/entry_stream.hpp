#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/shared/row_stream.hpp"

namespace bulksim {

/// Some entries of a matrix, in the order of the file.
struct EntryBlock {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::vector<double> values;
};

/// The entries of a matrix in the order of the file, for formats that are not in row order.
/// Rows and columns are inside the matrix, values are finite.
class EntryStream {
 public:
  EntryStream() = default;
  EntryStream(const EntryStream&) = delete;
  EntryStream& operator=(const EntryStream&) = delete;
  virtual ~EntryStream() = default;

  /// False when no entry is left.
  virtual bool next(EntryBlock& out) = 0;
};

/// Sorts entries into rows; duplicates stay in their order. `open` restarts the entries: they are
/// read once to count them and once per `most_entries` of them, of which 14 bytes each are in
/// memory at once, and 8 bytes per row block. Throws Error (71) when a row block has more entries.
std::unique_ptr<RowStream> rows_of_entries(MatrixInfo info,
                                           std::function<std::unique_ptr<EntryStream>()> open,
                                           std::int64_t most_entries);

/// Throws Error (65) about the value of an entry that is not finite.
[[noreturn]] void refuse_value(const std::string& where, double value);

}  // namespace bulksim
