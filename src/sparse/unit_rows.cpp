#include "bulksim/sparse/unit_rows.hpp"

namespace bulksim {

std::int64_t UnitRows::bytes() const {
  return static_cast<std::int64_t>(row_offsets.size() * sizeof(std::int64_t) +
                                   col_indices.size() * sizeof(Column) +
                                   values.size() * sizeof(std::int32_t));
}

void UnitRows::clear() {
  row_offsets.assign(1, 0);
  col_indices.clear();
  values.clear();
}

void append_unit_rows(CsrView canonical, Grid grid, UnitRows& out) {
  out.columns = canonical.columns;
  out.row_offsets.reserve(out.row_offsets.size() + static_cast<std::size_t>(canonical.rows()));
  out.col_indices.reserve(out.col_indices.size() + static_cast<std::size_t>(canonical.nnz()));
  out.values.reserve(out.values.size() + static_cast<std::size_t>(canonical.nnz()));
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto columns = canonical.columns_of(row);
    const auto values = canonical.values_of(row);
    const RowScale scale = row_scale(values);
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      const std::int32_t value = to_grid(values[entry], scale, grid);
      if (value == 0) continue;
      out.col_indices.push_back(columns[entry]);
      out.values.push_back(value);
    }
    out.row_offsets.push_back(static_cast<std::int64_t>(out.values.size()));
  }
}

std::int64_t exact_sum(const UnitRows& queries, std::int64_t q, const UnitRows& items,
                       std::int64_t i) {
  return exact_sum(queries.columns_of(q), queries.values_of(q), items.columns_of(i),
                   items.values_of(i));
}

}  // namespace bulksim
