#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

/// Canonical rows quantized, of unit length but for integers: what the kernels multiply.
struct QuantizedRows {
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_offsets{0};
  std::vector<Column> col_indices;
  std::vector<std::int32_t> values;  ///< nonzero quantized values, |X| <= 2^bits but for integers
  /// For dot products: lengths of the rows as they were, or 1 where the format keeps them; else
  /// empty.
  std::vector<double> norms;

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets.size()) - 1; }
  std::int64_t nnz() const { return row_offsets.back(); }
  std::span<const Column> columns_of(std::int64_t row) const { return cut(col_indices, row); }
  std::span<const std::int32_t> values_of(std::int64_t row) const { return cut(values, row); }
  std::int64_t bytes() const;
  /// Empties the rows and keeps their memory.
  void clear();

 private:
  template <class T>
  std::span<const T> cut(const std::vector<T>& all, std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return std::span<const T>(all).subspan(
        static_cast<std::size_t>(row_offsets[at]),
        static_cast<std::size_t>(row_offsets[at + 1] - row_offsets[at]));
  }
};

/// Appends canonical rows, put quantized, to `out`.
void append_quantized_rows(CsrView canonical, FixedPoint format, QuantizedRows& out);

/// The score of two rows whose exact sum is known.
inline float score_of_sum(std::int64_t sum, const QuantizedRows& queries, std::int64_t q,
                          const QuantizedRows& items, std::int64_t i, FixedPoint format) {
  if (format.metric == Metric::kCosine) return to_cosine(sum, inverse_one(format));
  return to_dot(
      sum, inverse_one(format),
      queries.norms[static_cast<std::size_t>(q)] * items.norms[static_cast<std::size_t>(i)]);
}

/// The definition of a score: that of the `exact_sum` of two rows.
float exact_score(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                  std::int64_t i, FixedPoint format);

/// `exact_sum` of two rows.
std::int64_t exact_sum(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                       std::int64_t i);

}  // namespace bulksim
