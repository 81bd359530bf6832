#include "bulksim/sparse/unit_rows.hpp"

#include <algorithm>

namespace bulksim {

namespace {

/// Rows that are written behind others, where there is room for all their entries.
class RowAppender {
 public:
  RowAppender(Grid grid, std::int64_t nnz, UnitRows& out)
      : grid_(grid), out_(out), end_(out.values.size()) {
    out.col_indices.resize(end_ + static_cast<std::size_t>(nnz));
    out.values.resize(end_ + static_cast<std::size_t>(nnz));
  }

  void append(std::span<const Column> columns, std::span<const double> values) {
    std::ranges::copy(columns, out_.col_indices.data() + end_);
    if (grid_ == kIntegerGrid) {
      put_integers(values);
    } else {
      put_on_grid(values);
    }
    out_.row_offsets.push_back(static_cast<std::int64_t>(end_));
  }
  void finish() {
    out_.col_indices.resize(end_);
    out_.values.resize(end_);
  }

 private:
  /// Integers are their own grid values.
  void put_integers(std::span<const double> values) {
    std::ranges::transform(values, out_.values.data() + end_,
                           [](double value) { return static_cast<std::int32_t>(value); });
    end_ += values.size();
    out_.norms.push_back(1.0);
  }

  void put_on_grid(std::span<const double> values) {
    const RowScale scale = row_scale(values);
    std::int32_t* to = out_.values.data() + end_;
    for (std::size_t entry = 0; entry < values.size(); ++entry)
      to[entry] = to_grid(values[entry], scale, grid_);
    const bool all_kept = std::find(to, to + values.size(), 0) == to + values.size();
    end_ += all_kept ? values.size() : without_zeros(values.size());
    if (grid_.metric == Metric::kDot) {
      out_.norms.push_back(times_power_of_two(scale.norm, scale.exponent));
    }
  }

  /// Drops the entries of the row whose grid value is 0; returns how many are left.
  std::size_t without_zeros(std::size_t size) {
    Column* columns = out_.col_indices.data() + end_;
    std::int32_t* values = out_.values.data() + end_;
    std::size_t kept = 0;
    for (std::size_t entry = 0; entry < size; ++entry) {
      columns[kept] = columns[entry];
      values[kept] = values[entry];
      kept += values[entry] != 0;
    }
    return kept;
  }

  Grid grid_;
  UnitRows& out_;
  std::size_t end_;
};

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
  RowAppender appender(grid, canonical.nnz(), out);
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    appender.append(canonical.columns_of(row), canonical.values_of(row));
  }
  appender.finish();
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
