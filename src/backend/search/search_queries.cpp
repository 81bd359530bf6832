#include "backend/search/search_queries.hpp"

#include <algorithm>
#include <cmath>

namespace bulksim {

namespace {

constexpr float kUp = 1.0f + 0x1p-20f;  // more than the rounding errors of a few float operations
// The share of all query entries in the bands up to each, in 1/32: most entries that are left out
// are in the few columns that nearly every query has.
constexpr std::int64_t kBandEnds[kBands] = {1, 2, 3, 4, 6, 8, 16, 32};

}  // namespace

SearchQueries::SearchQueries(const QueryBatch& queries)
    : batch_(&queries), vocabulary_(queries.rows) {
  const QuantizedRows& rows = queries.rows;
  offsets_.reserve(rows.rows() + 1);
  entries_.reserve(rows.nnz());
  norms_.reserve(rows.rows());
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const auto columns = rows.columns_of(row);
    const auto values = rows.values_of(row);
    double squares = 0.0;
    for (const std::int32_t value : values)
      squares += double{1} * value * value;
    const double norm = std::sqrt(squares);
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      const double unit = values[entry] / norm;
      entries_.push_back({vocabulary_.label(columns[entry]), values[entry],
                          static_cast<std::int32_t>(std::lround(std::ldexp(unit, kCoarseBits))),
                          static_cast<float>(std::fabs(unit)) * kUp});
    }
    std::sort(entries_.begin() + offsets_.back(), entries_.end(),
              [](const SearchEntry& a, const SearchEntry& b) { return a.label < b.label; });
    norms_.push_back(norm);
    offsets_.push_back(std::ssize(entries_));
    longest_ = std::max(longest_, std::ssize(values));
  }
  split_into_bands();
}

void SearchQueries::split_into_bands() {
  std::vector<std::int64_t> frequency(vocabulary_.size());
  for (const SearchEntry& entry : entries_)
    ++frequency[entry.label];
  bands_.resize(vocabulary_.size());
  const auto entries = std::ssize(entries_);
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
  return rows * 16 + nnz * std::int64_t{sizeof(SearchEntry)} + labels * (1 + 8);
}

}  // namespace bulksim
