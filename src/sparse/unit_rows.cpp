#include "bulksim/sparse/unit_rows.hpp"

namespace bulksim {

namespace {

/// Appends a row of integers as it is.
void append_integers(std::span<const Column> columns, std::span<const double> values,
                     UnitRows& out) {
  for (std::size_t entry = 0; entry < values.size(); ++entry) {
    out.col_indices.push_back(columns[entry]);
    out.values.push_back(static_cast<std::int32_t>(values[entry]));
  }
  out.norms.push_back(1.0);
}

void append_on_grid(std::span<const Column> columns, std::span<const double> values, Grid grid,
                    UnitRows& out) {
  const RowScale scale = row_scale(values);
  std::size_t size = out.values.size();
  out.col_indices.resize(size + columns.size());
  out.values.resize(size + columns.size());
  for (std::size_t entry = 0; entry < values.size(); ++entry) {
    const std::int32_t value = to_grid(values[entry], scale, grid);
    out.col_indices[size] = columns[entry];
    out.values[size] = value;
    size += value != 0;
  }
  out.col_indices.resize(size);
  out.values.resize(size);
  if (grid.metric == Metric::kDot) {
    out.norms.push_back(times_power_of_two(scale.norm, scale.exponent));
  }
}

}  // namespace

std::int64_t UnitRows::bytes() const {
  return static_cast<std::int64_t>(
      row_offsets.size() * sizeof(std::int64_t) + col_indices.size() * sizeof(Column) +
      values.size() * sizeof(std::int32_t) + norms.size() * sizeof(double));
}

void UnitRows::clear() {
  row_offsets.assign(1, 0);
  col_indices.clear();
  values.clear();
  norms.clear();
}

void append_unit_rows(CsrView canonical, Grid grid, UnitRows& out) {
  out.columns = canonical.columns;
  out.row_offsets.reserve(out.row_offsets.size() + static_cast<std::size_t>(canonical.rows()));
  out.col_indices.reserve(out.col_indices.size() + static_cast<std::size_t>(canonical.nnz()));
  out.values.reserve(out.values.size() + static_cast<std::size_t>(canonical.nnz()));
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    if (grid == kIntegerGrid) {
      append_integers(canonical.columns_of(row), canonical.values_of(row), out);
    } else {
      append_on_grid(canonical.columns_of(row), canonical.values_of(row), grid, out);
    }
    out.row_offsets.push_back(static_cast<std::int64_t>(out.values.size()));
  }
}

float score_of_sum(std::int64_t sum, const UnitRows& queries, std::int64_t q, const UnitRows& items,
                   std::int64_t i, Grid grid) {
  if (grid.metric == Metric::kCosine) return to_cosine(sum, inverse_one(grid));
  return to_dot(
      sum, inverse_one(grid),
      queries.norms[static_cast<std::size_t>(q)] * items.norms[static_cast<std::size_t>(i)]);
}

float exact_score(const UnitRows& queries, std::int64_t q, const UnitRows& items, std::int64_t i,
                  Grid grid) {
  return score_of_sum(exact_sum(queries, q, items, i), queries, q, items, i, grid);
}

std::int64_t exact_sum(const UnitRows& queries, std::int64_t q, const UnitRows& items,
                       std::int64_t i) {
  return exact_sum(queries.columns_of(q), queries.values_of(q), items.columns_of(i),
                   items.values_of(i));
}

}  // namespace bulksim
