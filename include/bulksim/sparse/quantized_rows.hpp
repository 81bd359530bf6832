#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

/// Quantized canonical rows, the input of the kernels.
struct QuantizedRows {
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_offsets{0};
  std::vector<Column> col_indices;
  std::vector<std::int32_t> values;  ///< nonzero; |X| <= 2^bits
  std::vector<double> scales;        ///< by row: r or c of the contract

  std::int64_t rows() const { return std::ssize(row_offsets) - 1; }
  std::int64_t nnz() const { return row_offsets.back(); }
  std::span<const Column> columns_of(std::int64_t row) const { return slice(col_indices, row); }
  std::span<const std::int32_t> values_of(std::int64_t row) const { return slice(values, row); }
  std::int64_t bytes() const;
  /// Removes all rows and keeps the memory.
  void clear();

 private:
  template <class T>
  std::span<const T> slice(const std::vector<T>& all, std::int64_t row) const {
    const std::size_t at = row;
    return std::span<const T>(all).subspan(row_offsets[at], row_offsets[at + 1] - row_offsets[at]);
  }
};

/// Rows that several owners read and nobody changes.
class SharedRows {
 public:
  SharedRows() : SharedRows(QuantizedRows{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): takes the place of rows
  SharedRows(QuantizedRows rows) : rows_(std::make_shared<const QuantizedRows>(std::move(rows))) {}

  // NOLINTNEXTLINE(google-explicit-constructor): takes the place of rows
  operator const QuantizedRows&() const { return *rows_; }
  const QuantizedRows& operator*() const { return *rows_; }
  const QuantizedRows* operator->() const { return rows_.get(); }
  bool is_same(const SharedRows& other) const { return rows_ == other.rows_; }

 private:
  std::shared_ptr<const QuantizedRows> rows_;
};

/// Quantizes canonical rows and appends them to `out`.
void append_quantized_rows(CsrView canonical, FixedPoint format, QuantizedRows& out);

/// The score of two rows, given their exact sum.
inline float score_of_sum(std::int64_t sum, const QuantizedRows& queries, std::int64_t q,
                          const QuantizedRows& items, std::int64_t i) {
  return to_score(sum, queries.scales[q], items.scales[i]);
}

/// The definition of a score: `score_of_sum` of the `exact_sum` of two rows.
float exact_score(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                  std::int64_t i);

/// `exact_sum` of two rows.
std::int64_t exact_sum(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                       std::int64_t i);

}  // namespace bulksim
