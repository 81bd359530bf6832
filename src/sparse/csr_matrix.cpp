#include "bulksim/sparse/csr_matrix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

namespace bulksim {

CsrView CsrView::slice(RowRange range) const {
  BULKSIM_EXPECT(0 <= range.begin && range.begin <= range.end && range.end <= rows());
  return {columns, row_offsets.subspan(range.begin, range.size() + 1), col_indices, values};
}

void CsrMatrix::clear() {
  row_offsets.assign(1, 0);
  col_indices.clear();
  values.clear();
}

std::array<CanonicalizationCounts::Count, 4> CanonicalizationCounts::all() const {
  return {{{"empty rows", zero_rows},
           {"rows sorted", unsorted_rows},
           {"duplicates summed", duplicates},
           {"zeros dropped", explicit_zeros}}};
}

std::string CanonicalizationCounts::text() const {
  std::string text;
  const auto counts = all();
  for (const Count& count : std::span(counts).subspan(1)) {  // empty rows are canonical
    if (count.number == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count.number) + " " + count.meaning;
  }
  return text;
}

CanonicalizationCounts& CanonicalizationCounts::operator+=(const CanonicalizationCounts& other) {
  zero_rows += other.zero_rows;
  unsorted_rows += other.unsorted_rows;
  duplicates += other.duplicates;
  explicit_zeros += other.explicit_zeros;
  return *this;
}

namespace {

using Entry = std::pair<Column, double>;

/// The highest bit of the result is set for 0, infinities and NaN.
std::uint64_t unusual(double value) {
  const std::uint64_t size = std::bit_cast<std::uint64_t>(value) & ~(std::uint64_t{1} << 63);
  return (size - 1) | (size + (std::uint64_t{1} << 52));
}

/// Rewrites the entries row by row, in place; the output position never passes the input position.
class Canonicalizer {
 public:
  Canonicalizer(CsrMatrix& rows, Irregular policy, const std::string& name, std::int64_t first_row)
      : rows_(rows), policy_(policy), name_(name), first_row_(first_row) {}

  CanonicalizationCounts run() {
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < rows_.rows(); ++row) {
      auto& end = rows_.row_offsets[row + 1];
      const std::size_t before = out_;
      rewrite(row, begin, end);
      counts_.zero_rows += out_ == before;
      begin = end;
      end = out_;
    }
    rows_.col_indices.resize(out_);
    rows_.values.resize(out_);
    return counts_;
  }

 private:
  void rewrite(std::int64_t row, std::size_t begin, std::size_t end) {
    if (begin == out_ && is_canonical(begin, end)) {
      out_ = end;
      return;
    }
    const auto& columns = rows_.col_indices;
    const auto row_columns = std::span(columns).subspan(begin, end - begin);
    const auto descent = std::ranges::is_sorted_until(row_columns);
    if (descent != row_columns.end()) {
      ++counts_.unsorted_rows;
      refuse(row, descent - row_columns.begin(), "the column is smaller than the one before");
      sort(begin, end);
    }
    for (std::size_t at = begin; at < end;) {
      const Column column = columns[at];
      double sum = rows_.values[at];
      std::size_t next = at + 1;
      for (; next < end && columns[next] == column; ++next) {
        sum += rows_.values[next];
        ++counts_.duplicates;
        refuse(row, next - begin, "the column occurs twice");
      }
      if (!std::isfinite(sum)) {
        throw Error(ExitCode::kDataError, where(row) + ": the duplicates of column " +
                                              std::to_string(column) +
                                              " do not add up to a finite value");
      }
      if (sum == 0.0) {
        ++counts_.explicit_zeros;
        refuse(row, at - begin, "the value is zero");
      } else {
        keep(column, sum);
      }
      at = next;
    }
  }

  /// Whether a row is canonical already, the usual case; without branches on values.
  bool is_canonical(std::size_t begin, std::size_t end) const {
    const Column* columns = rows_.col_indices.data();
    const double* values = rows_.values.data();
    std::uint64_t marks = 0;
    for (std::size_t at = begin; at < end; ++at)
      marks |= unusual(values[at]);
    std::uint32_t descents = 0;
    for (std::size_t at = begin + 1; at < end; ++at)
      descents |= static_cast<std::uint32_t>(columns[at - 1] >= columns[at]);
    return (marks >> 63) == 0 && descents == 0;
  }

  void keep(Column column, double value) {
    rows_.col_indices[out_] = column;
    rows_.values[out_] = value;
    ++out_;
  }

  void sort(std::size_t begin, std::size_t end) {
    entries_.clear();
    for (std::size_t at = begin; at < end; ++at) {
      entries_.emplace_back(rows_.col_indices[at], rows_.values[at]);
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.first < b.first; });
    for (std::size_t at = begin; at < end; ++at) {
      std::tie(rows_.col_indices[at], rows_.values[at]) = entries_[at - begin];
    }
  }

  void refuse(std::int64_t row, std::size_t entry, const char* what) const {
    if (policy_ == Irregular::kAccept) return;
    throw Error(ExitCode::kDataError, where(row) + ", entry " + std::to_string(entry) + ": " +
                                          what + ", which --strict does not allow");
  }

  std::string where(std::int64_t row) const {
    return "'" + name_ + "', row " + std::to_string(first_row_ + row);
  }

  CsrMatrix& rows_;
  Irregular policy_;
  const std::string& name_;
  std::int64_t first_row_;
  CanonicalizationCounts counts_;
  std::vector<Entry> entries_;
  std::size_t out_ = 0;
};

}  // namespace

CanonicalizationCounts canonicalize(CsrMatrix& rows, Irregular policy, const std::string& name,
                                    std::int64_t first_row) {
  return Canonicalizer(rows, policy, name, first_row).run();
}

}  // namespace bulksim
