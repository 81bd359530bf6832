#include "backend/search/search_queries.hpp"

#include <algorithm>
#include <cmath>

#include "bulksim/sparse/fixed_point.hpp"
#include "core/run/parallel.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kRowsAtOnce = 4096;
// The share of all query entries in the bands up to each, in 1/32: most entries that are left out
// are in the few columns that nearly every query has.
constexpr std::int64_t kBandEnds[kBands] = {1, 2, 3, 4, 6, 8, 16, 32};

}  // namespace

SearchQueries::SearchQueries(const QueryBatch& queries, std::int64_t least_frequency, int threads)
    : batch_(queries), vocabulary_(queries.rows, least_frequency) {
  const std::int64_t count = queries.rows->rows();
  rows_.assign(queries.rows, {0, count}, vocabulary_);
  rows_.sort_by_label({0, count}, threads);
  units_.resize(rows_.nnz());
  norms_.resize(count);
  run_in_parallel(divide_up(count, kRowsAtOnce), threads, [&](std::int64_t some) {
    measure({some * kRowsAtOnce, std::min((some + 1) * kRowsAtOnce, count)});
  });
  split_into_bands();
}

void SearchQueries::measure(RowRange rows) {
  std::size_t at = rows_.entries({0, rows.begin}).size();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    double squares = 0.0;
    for (const LabelledEntry& entry : rows_.row(row))
      squares += static_cast<double>(entry.value) * entry.value;
    norms_[row] = std::sqrt(squares);
    const double inverse = squares > 0.0 ? 1.0 / norms_[row] : 0.0;
    double before = 0.0;  // squared
    for (const LabelledEntry& entry : rows_.row(row)) {
      const double unit = entry.value * inverse;
      const float size = static_cast<float>(std::fabs(unit)) * kUp;
      units_[at++] = {static_cast<std::int32_t>(round_half_even(unit * (1 << kCoarseBits))), size,
                      static_cast<float>(std::sqrt(before)) * kUp};
      before += unit * unit;
    }
  }
}

void SearchQueries::split_into_bands() {
  std::vector<std::int64_t> frequency(vocabulary_.size());
  for (const LabelledEntry& entry : rows_.entries({0, rows_.rows()}))
    ++frequency[entry.label];
  bands_.resize(vocabulary_.size());
  const std::int64_t entries = rows_.nnz();
  std::int64_t seen = 0;
  std::size_t band = 0;
  for (std::uint32_t label = 0; label < vocabulary_.size(); ++label) {
    bands_[label] = static_cast<std::uint8_t>(band);
    seen += frequency[label];
    while (band + 1 < kBands && kBandEnds[kBands - 1] * seen >= kBandEnds[band] * entries) {
      borders_[band++] = label + 1;
    }
  }
  for (; band < kBands; ++band)
    borders_[band] = vocabulary_.size();
}

std::int64_t SearchQueries::bytes(std::int64_t rows, std::int64_t nnz, std::int64_t labels) {
  return LabelledRows::bytes(rows, nnz) + rows * std::int64_t{sizeof(double)} +
         nnz * std::int64_t{sizeof(UnitEntry)} + labels * (1 + 8);
}

}  // namespace bulksim
