#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

enum class CorpusSide { kQueries, kItems };

/// Log-normal distribution of the nonzeros per row.
struct RowLengths {
  double mean = 1.0;
  double spread = 0.0;  ///< standard deviation of log2(length)
};

/// A kind of corpus. The column of rank k is drawn with a probability proportional to 1 / (k +
/// offset): Zipf-Mandelbrot with exponent 1.
struct CorpusPreset {
  std::string_view name;
  std::int64_t columns = 0;
  double offset = 1.0;
  RowLengths queries;
  RowLengths items;
};

/// One of titles, titles43, trigrams and splade; throws Error (64) for any other name.
const CorpusPreset& find_corpus_preset(std::string_view name);

/// Random rows with the statistics of sparse text embeddings, identical on every machine.
///
/// Columns are drawn until a row has its length; a value is idf * (1 + ln(times drawn)), rounded to
/// float32. A row depends only on preset, seed, side and its number, so that any range can be
/// generated anywhere. Logarithms and powers are implemented here, so that no bit depends on the C
/// library.
class SyntheticCorpus {
 public:
  /// Uses 12 bytes per column.
  SyntheticCorpus(const CorpusPreset& preset, std::uint64_t seed);

  const CorpusPreset& preset() const { return preset_; }
  /// Number of nonzeros of a row, at least 1. Cheap: does not generate the row.
  std::int64_t row_length(CorpusSide side, std::int64_t row) const;
  /// Offsets of the first `rows` rows; rows + 1 values, from 0.
  std::vector<std::int64_t> row_offsets(CorpusSide side, std::int64_t rows) const;
  /// Generates canonical rows [range.begin, range.end) into `out`, whose memory is reused.
  void generate(CorpusSide side, RowRange range, CsrMatrix& out) const;

 private:
  CorpusPreset preset_;
  std::uint64_t seed_;
  double log2_span_;             // log2 of (columns + offset) / offset
  std::vector<Column> columns_;  // by rank; shuffled, so not ordered by frequency
  std::vector<double> idf_;      // by rank
};

}  // namespace bulksim
