#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/rows/prefetch.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// One entry of a row whose column has become a label.
struct LabelledEntry {
  std::uint32_t label;
  std::int32_t value;
};

/// What is known about the signs of values.
enum class Signs { kAny, kNonNegative };

/// Canonical rows with columns replaced by labels of a query vocabulary, in the order of their
/// columns or of their labels. Entries outside the vocabulary match no query and are dropped.
class LabelledRows {
 public:
  /// Replaces the rows with `range` of `rows`; keeps the memory.
  void assign(const QuantizedRows& rows, RowRange range, const Vocabulary& vocabulary);
  /// Orders the entries of each row of a range by label: the most frequent columns of the queries
  /// first.
  void sort_by_label(RowRange range, int threads = 1);

  std::int64_t rows() const { return std::ssize(offsets_) - 1; }
  std::int64_t nnz() const { return offsets_.back(); }
  std::int64_t longest() const { return longest_; }  ///< entries of the fullest row
  /// QuantizedRows::scales of a row.
  double scale(std::int64_t row) const { return scales_[row]; }
  Signs signs() const { return signs_; }
  std::span<const LabelledEntry> row(std::int64_t row) const { return entries({row, row + 1}); }
  void prefetch_offset(std::int64_t row) const { prefetch(offsets_.data() + row, 1); }
  /// Entries of neighbouring rows.
  std::span<const LabelledEntry> entries(RowRange range) const {
    const auto begin = offsets_[range.begin];
    const auto end = offsets_[range.end];
    return std::span(entries_).subspan(begin, end - begin);
  }
  static std::int64_t bytes(std::int64_t rows, std::int64_t nnz) {
    return (rows + 1) * std::int64_t{sizeof(std::int64_t) + sizeof(double)} +
           nnz * std::int64_t{sizeof(LabelledEntry)};
  }

 private:
  std::vector<std::int64_t> offsets_{0};
  std::vector<LabelledEntry> entries_;  // those after the last offset are unused
  std::vector<double> scales_;
  std::int64_t longest_ = 0;
  Signs signs_ = Signs::kNonNegative;
};

inline Signs common_signs(const LabelledRows& a, const LabelledRows& b) {
  return a.signs() == b.signs() ? a.signs() : Signs::kAny;
}

}  // namespace bulksim
