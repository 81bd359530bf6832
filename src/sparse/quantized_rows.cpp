#include "bulksim/sparse/quantized_rows.hpp"

#include <algorithm>

namespace bulksim {

namespace {

/// Appends rows. All columns are copied at the start, so that a row stays in place when none of its
/// entries is dropped.
class RowAppender {
 public:
  RowAppender(CsrView rows, FixedPoint format, QuantizedRows& out)
      : format_(format), out_(out), from_(out.values.size()), end_(from_) {
    const auto columns = rows.col_indices.subspan(rows.row_offsets[0], rows.nnz());
    out.col_indices.insert(out.col_indices.end(), columns.begin(), columns.end());
    out.values.resize(out.col_indices.size());
  }

  void append(std::span<const double> values) {
    std::int32_t* to = out_.values.data() + from_;
    out_.scales.push_back(quantize_row(values, format_, to));
    const bool all_kept = std::find(to, to + values.size(), 0) == to + values.size();
    if (all_kept && end_ == from_) {
      end_ += values.size();
    } else {
      keep_nonzeros(values.size());
    }
    from_ += values.size();
    out_.row_offsets.push_back(end_);
  }
  void finish() {
    out_.col_indices.resize(end_);
    out_.values.resize(end_);
  }

 private:
  void keep_nonzeros(std::size_t size) {
    Column* columns = out_.col_indices.data();
    std::int32_t* values = out_.values.data();
    for (std::size_t at = from_; at < from_ + size; ++at) {
      columns[end_] = columns[at];
      values[end_] = values[at];
      end_ += values[at] != 0;
    }
  }

  FixedPoint format_;
  QuantizedRows& out_;
  std::size_t from_;  // position of the next row's columns
  std::size_t end_;   // end of the appended rows
};

}  // namespace

std::int64_t QuantizedRows::bytes() const {
  return row_offsets.size() * sizeof(std::int64_t) + col_indices.size() * sizeof(Column) +
         values.size() * sizeof(std::int32_t) + scales.size() * sizeof(double);
}

void QuantizedRows::clear() {
  row_offsets.assign(1, 0);
  col_indices.clear();
  values.clear();
  scales.clear();
}

void append_quantized_rows(CsrView canonical, FixedPoint format, QuantizedRows& out) {
  out.columns = canonical.columns;
  RowAppender appender(canonical, format, out);
  for (std::int64_t row = 0; row < canonical.rows(); ++row)
    appender.append(canonical.values_of(row));
  appender.finish();
}

float exact_score(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                  std::int64_t i) {
  return score_of_sum(exact_sum(queries, q, items, i), queries, q, items, i);
}

std::int64_t exact_sum(const QuantizedRows& queries, std::int64_t q, const QuantizedRows& items,
                       std::int64_t i) {
  return exact_sum(queries.columns_of(q), queries.values_of(q), items.columns_of(i),
                   items.values_of(i));
}

}  // namespace bulksim
