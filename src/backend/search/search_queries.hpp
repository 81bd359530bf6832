#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim {

/// Bounds use 15-bit values: a row of length 1 becomes 2^14 long and a cosine of 1 becomes 2^28, so
/// that any sum fits into an int32.
inline constexpr int kCoarseBits = 14;
inline constexpr float kCoarseOne = 0x1p28f;

/// Labels are divided into bands, the most frequent columns first: the length of a row below each
/// border bounds what its frequent columns can add.
inline constexpr std::size_t kBands = 8;

/// One entry of a query, prepared for the search.
struct SearchEntry {
  std::uint32_t label;
  std::int32_t value;   ///< quantized
  std::int32_t coarse;  ///< round(value / norm * 2^14)
  float weight;         ///< |value| / norm, rounded up
};

/// A query batch for the pair search: entries ordered by label, that is, most frequent columns
/// first.
class SearchQueries {
 public:
  explicit SearchQueries(const QueryBatch& queries);

  const QueryBatch& batch() const { return *batch_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::int64_t longest() const { return longest_; }
  std::span<const SearchEntry> row(std::int64_t row) const {
    const std::size_t begin = offsets_[row];
    const std::size_t end = offsets_[row + 1];
    return std::span(entries_).subspan(begin, end - begin);
  }
  /// Length of the quantized values of a row.
  double norm(std::int64_t row) const { return norms_[row]; }
  /// QuantizedRows::scales of a row.
  double scale(std::int64_t row) const { return batch_->rows.scales[row]; }
  /// Labels below borders()[b] are in the bands up to b. Ascending.
  const std::array<std::uint32_t, kBands>& borders() const { return borders_; }
  /// Band of each label.
  const std::vector<std::uint8_t>& bands() const { return bands_; }

  static std::int64_t bytes(std::int64_t rows, std::int64_t nnz, std::int64_t labels);

 private:
  void split_into_bands();

  const QueryBatch* batch_;
  Vocabulary vocabulary_;
  std::vector<std::int64_t> offsets_{0};
  std::vector<SearchEntry> entries_;
  std::vector<double> norms_;
  std::int64_t longest_ = 0;
  std::array<std::uint32_t, kBands> borders_{};
  std::vector<std::uint8_t> bands_;
};

}  // namespace bulksim
