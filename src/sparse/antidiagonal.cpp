#include "sparse/antidiagonal.hpp"

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

namespace {

void append_quantized_row(CsrView rows, std::int64_t row, std::int64_t position, CsrMatrix& out) {
  const RowSize size = row_size(rows.values_of(row));
  const double norm = size.norm();
  for (const Column column : rows.columns_of(row)) {
    out.col_indices.push_back(static_cast<Column>(position * rows.columns + column));
  }
  for (const double value : rows.values_of(row))
    out.values.push_back(times_power_of_two(value, -size.exponent) / norm);
}

}  // namespace

CsrMatrix group_rows(CsrView canonical, std::int64_t stride, GroupOrder order) {
  CsrMatrix groups;
  groups.columns = stride * canonical.columns;
  for (std::int64_t first = 0; first < canonical.rows(); first += stride) {
    for (std::int64_t position = 0; position < stride; ++position) {
      const std::int64_t row =
          first + (order == GroupOrder::kForward ? position : stride - 1 - position);
      if (row < canonical.rows()) append_quantized_row(canonical, row, position, groups);
    }
    groups.row_offsets.push_back(std::ssize(groups.values));
  }
  return groups;
}

}  // namespace bulksim
