#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/rows/labelled_rows.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// Bounds of the sweep use 15-bit values: a row of length 1 becomes 2^14 long and a cosine of 1
/// becomes 2^28, so that any sum fits into an int32.
inline constexpr int kCoarseBits = 14;
inline constexpr float kCoarseOne = 0x1p28f;

/// Labels are divided into bands, the most frequent columns first: the length of a row below each
/// border bounds what its frequent columns can add.
inline constexpr std::size_t kBands = 8;

/// Factor for float32 numbers that must not be too small: more than the rounding errors of a few
/// operations.
inline constexpr float kUp = 1.0f + 0x1p-20f;

/// One entry of a query of length 1.
struct UnitEntry {
  std::int32_t coarse;  ///< round(value * 2^14)
  float size;           ///< |value|, rounded up
  float before;         ///< length of the entries before it in the order of labels, rounded up
};

/// A query batch for the pair search: entries ordered by label, that is, most frequent columns
/// first.
class SearchQueries {
 public:
  /// Columns that occur in fewer than `least_frequency` queries are left out.
  SearchQueries(const QueryBatch& queries, std::int64_t least_frequency, int threads);

  const QueryBatch& batch() const { return batch_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const LabelledRows& rows() const { return rows_; }
  std::span<const LabelledEntry> row(std::int64_t row) const { return rows_.row(row); }
  /// The same entries at unit length.
  std::span<const UnitEntry> unit_row(std::int64_t row) const {
    const auto entries = rows_.row(row);
    const std::size_t begin = entries.data() - rows_.entries({0, rows_.rows()}).data();
    return std::span(units_).subspan(begin, entries.size());
  }
  /// Length of the quantized values of a row.
  double norm(std::int64_t row) const { return norms_[row]; }
  /// QuantizedRows::scales of a row.
  double scale(std::int64_t row) const { return rows_.scale(row); }
  /// Labels below borders()[b] are in the bands up to b. Ascending.
  const std::array<std::uint32_t, kBands>& borders() const { return borders_; }
  /// Band of each label.
  const std::vector<std::uint8_t>& bands() const { return bands_; }

  static std::int64_t bytes(std::int64_t rows, std::int64_t nnz, std::int64_t labels);

 private:
  void measure(RowRange rows);
  void split_into_bands();

  QueryBatch batch_;  // threads may begin when the batch is over
  Vocabulary vocabulary_;
  LabelledRows rows_;
  std::vector<UnitEntry> units_;
  std::vector<double> norms_;
  std::array<std::uint32_t, kBands> borders_{};
  std::vector<std::uint8_t> bands_;
};

}  // namespace bulksim
