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

/// Borrowed sparse rows. Offsets stay absolute, so a slice copies nothing.
struct CsrView {
  std::int64_t columns = 0;
  std::span<const std::int64_t> row_offsets;  ///< rows + 1 of them
  std::span<const Column> col_indices;
  std::span<const double> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets.size()) - 1; }
  std::int64_t nnz() const { return row_offsets.back() - row_offsets.front(); }
  std::span<const Column> columns_of(std::int64_t row) const { return cut(col_indices, row); }
  std::span<const double> values_of(std::int64_t row) const { return cut(values, row); }
  /// Rows [range.begin, range.end) of this view.
  CsrView slice(RowRange range) const;

 private:
  template <class T>
  std::span<const T> cut(std::span<const T> all, std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return all.subspan(static_cast<std::size_t>(row_offsets[at]),
                       static_cast<std::size_t>(row_offsets[at + 1] - row_offsets[at]));
  }
};

/// Owned sparse rows of float64 values, as a file has them or in canonical form.
struct CsrMatrix {
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_offsets{0};
  std::vector<Column> col_indices;
  std::vector<double> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets.size()) - 1; }
  std::int64_t nnz() const { return row_offsets.back(); }
  CsrView view() const { return {columns, row_offsets, col_indices, values}; }
  /// Empties the matrix and keeps its memory.
  void clear();
};

/// What is done with irregular rows; everything that is accepted is counted.
enum class Irregular {
  kAccept,  ///< sort, sum duplicates, drop zeros
  kRefuse,  ///< an Error (65) names the row and the entry
};

/// Irregularities of the rows of an input, before they were put in order.
struct CanonicalizationCounts {
  std::int64_t zero_rows = 0;       ///< rows without a nonzero value, in canonical form
  std::int64_t unsorted_rows = 0;   ///< rows whose columns did not ascend
  std::int64_t duplicates = 0;      ///< entries added to an earlier one of the same column
  std::int64_t explicit_zeros = 0;  ///< stored or cancelled zeros that were dropped

  /// One of the counts, and what it counts.
  struct Count {
    const char* meaning;  ///< "rows sorted"
    std::int64_t number;
  };
  /// All of them, in the order of records.
  std::array<Count, 4> all() const;

  /// Whether all rows were canonical as they were stored.
  bool all_canonical() const {
    return unsorted_rows == 0 && duplicates == 0 && explicit_zeros == 0;
  }
  /// "2 rows sorted, 1 duplicates summed": what was done to rows; empty where all were canonical.
  std::string text() const;
  CanonicalizationCounts& operator+=(const CanonicalizationCounts& other);
  bool operator==(const CanonicalizationCounts&) const = default;
};

/// Puts rows into canonical form in place: columns ascending, duplicates summed in float64 in the
/// order of the file, explicit and cancelled zeros dropped.
///
/// `name` and `first_row` say in an Error where the row is. Throws Error (65) for a sum that
/// overflows, and with kRefuse for every irregularity.
CanonicalizationCounts canonicalize(CsrMatrix& rows, Irregular policy, const std::string& name,
                                    std::int64_t first_row);

}  // namespace bulksim
