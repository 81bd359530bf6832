#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/error.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// A view of sparse rows. Offsets stay absolute, so that a slice copies nothing.
struct CsrView {
  std::int64_t columns = 0;
  std::span<const std::int64_t> row_offsets;  ///< rows + 1
  std::span<const Column> col_indices;
  std::span<const double> values;

  std::int64_t rows() const { return std::ssize(row_offsets) - 1; }
  std::int64_t nnz() const { return row_offsets.back() - row_offsets.front(); }
  std::span<const Column> columns_of(std::int64_t row) const { return slice(col_indices, row); }
  std::span<const double> values_of(std::int64_t row) const { return slice(values, row); }
  /// Rows [range.begin, range.end) of this view.
  CsrView slice(RowRange range) const;

 private:
  template <class T>
  std::span<const T> slice(std::span<const T> all, std::int64_t row) const {
    const std::size_t at = row;
    return all.subspan(row_offsets[at], row_offsets[at + 1] - row_offsets[at]);
  }
};

/// Sparse rows of float64 values, as stored in a file or in canonical form.
struct CsrMatrix {
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_offsets{0};
  std::vector<Column> col_indices;
  std::vector<double> values;

  std::int64_t rows() const { return std::ssize(row_offsets) - 1; }
  std::int64_t nnz() const { return row_offsets.back(); }
  CsrView view() const { return {columns, row_offsets, col_indices, values}; }
  /// Removes all rows and keeps the memory.
  void clear();
};

/// How irregular rows are treated. Accepted irregularities are counted.
enum class Irregular {
  kAccept,  ///< sort, sum duplicates, drop zeros
  kRefuse,  ///< throw Error (65) with row and entry
};

/// Irregularities of input rows that `canonicalize` corrected.
struct CanonicalizationCounts {
  std::int64_t zero_rows = 0;       ///< empty rows, in canonical form
  std::int64_t unsorted_rows = 0;   ///< rows whose columns were not in ascending order
  std::int64_t duplicates = 0;      ///< entries added to an earlier one of the same column
  std::int64_t explicit_zeros = 0;  ///< dropped zeros, stored or from cancellation

  /// One of the counts, and what it counts.
  struct Count {
    const char* meaning;  ///< "rows sorted"
    std::int64_t number;
  };
  /// All of them, in the order of records.
  std::array<Count, 4> all() const;

  /// Whether all rows were stored in canonical form.
  bool all_canonical() const {
    return unsorted_rows == 0 && duplicates == 0 && explicit_zeros == 0;
  }
  /// What was corrected: "2 rows sorted, 1 duplicates summed"; empty when all rows were canonical.
  std::string text() const;
  CanonicalizationCounts& operator+=(const CanonicalizationCounts& other);
  bool operator==(const CanonicalizationCounts&) const = default;
};

/// Converts rows to canonical form in place: columns ascending, duplicates summed in float64 in the
/// order of the file, stored zeros and zeros from cancellation dropped.
///
/// Errors contain `name` and the row number, counted from `first_row`. Throws Error (65) when a sum
/// overflows, and with kRefuse for any irregularity.
CanonicalizationCounts canonicalize(CsrMatrix& rows, Irregular policy, const std::string& name,
                                    std::int64_t first_row);

}  // namespace bulksim
