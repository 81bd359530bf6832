#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bulksim/core/types.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

enum class CorpusSide { kQueries, kItems };

/// Log-normal distribution of the nonzeros of a row.
struct RowLengths {
  double mean = 1.0;
  double spread = 0.0;  ///< standard deviation of log2 of the length
};

/// A kind of corpus. The column of rank k is drawn with a probability that falls with 1 / (k +
/// offset): Zipf-Mandelbrot, exponent 1.
struct CorpusPreset {
  std::string_view name;
  std::int64_t columns = 0;
  double offset = 1.0;
  RowLengths queries;
  RowLengths items;
};

/// One of titles, titles43, trigrams and splade; throws Error (64) that lists them.
const CorpusPreset& find_corpus_preset(std::string_view name);

/// Random rows that look like sparse embeddings of texts, the same on every machine.
///
/// A row is drawn column by column until it has its length; the value is idf * (1 + ln(times
/// drawn)), rounded to float32. A row follows from preset, seed, side and its number alone, so any
/// range can be made anywhere. Logarithms and powers are our own: no bit depends on a C library.
class SyntheticCorpus {
 public:
  /// Takes 12 bytes a column.
  SyntheticCorpus(const CorpusPreset& preset, std::uint64_t seed);

  const CorpusPreset& preset() const { return preset_; }
  /// Nonzeros of a row, at least 1; cheap.
  std::int64_t row_length(CorpusSide side, std::int64_t row) const;
  /// Offsets of rows 0 .. rows, from 0.
  std::vector<std::int64_t> row_offsets(CorpusSide side, std::int64_t rows) const;
  /// Canonical rows [range.begin, range.end) in `out`, whose memory is used again.
  void generate(CorpusSide side, RowRange range, CsrMatrix& out) const;

 private:
  CorpusPreset preset_;
  std::uint64_t seed_;
  double log2_span_;             // log2 of (columns + offset) / offset
  std::vector<Column> columns_;  // by rank: a fixed shuffle, so that frequency is not in order
  std::vector<double> idf_;      // by rank
};

}  // namespace bulksim
