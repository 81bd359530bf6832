#include "bulksim/sparse/unit_rows.hpp"

#include <algorithm>

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

/// Drops the entries from `begin` on whose grid value is 0.
void drop_zeros(std::size_t begin, UnitRows& out) {
  std::size_t kept = begin;
  for (std::size_t entry = begin; entry < out.values.size(); ++entry) {
    out.col_indices[kept] = out.col_indices[entry];
    out.values[kept] = out.values[entry];
    kept += out.values[entry] != 0;
  }
  out.col_indices.resize(kept);
  out.values.resize(kept);
}

void append_on_grid(std::span<const Column> columns, std::span<const double> values, Grid grid,
                    UnitRows& out) {
  const RowScale scale = row_scale(values);
  const std::size_t begin = out.values.size();
  out.col_indices.insert(out.col_indices.end(), columns.begin(), columns.end());
  out.values.resize(begin + values.size());
  std::int32_t* to = out.values.data() + begin;
  for (std::size_t entry = 0; entry < values.size(); ++entry)
    to[entry] = to_grid(values[entry], scale, grid);
  if (std::find(to, to + values.size(), 0) != to + values.size()) drop_zeros(begin, out);
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
