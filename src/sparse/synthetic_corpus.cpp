#include "sparse/synthetic_corpus.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr double kLn2 = 0.6931471805599453;

/// Fitted so that a pair shares as many columns on average as in real texts of the kind: 0.39,
/// 0.70, 3.5 and 3.8.
constexpr std::array kPresets{
    CorpusPreset{"titles", 1'000'000, 2.5, {13, 0.8}, {16, 0.8}},
    CorpusPreset{"titles43", 1'200'000, 16.7, {43, 0.6}, {38, 0.6}},
    CorpusPreset{"trigrams", 100'000, 3.87, {46, 0.6}, {50, 0.6}},
    CorpusPreset{"splade", 30'522, 20.0, {43, 0.6}, {120, 0.6}},
};

/// 1 / n, so that a series needs no division.
constexpr auto kInverse = [] {
  std::array<double, 18> inverse{};
  for (std::size_t n = 1; n < inverse.size(); ++n)
    inverse[n] = 1.0 / static_cast<double>(n);
  return inverse;
}();

/// 2^x to about 1e-10, from additions and products only.
double power_of_two(double x) {
  const double whole = std::floor(x + 0.5);
  const double t = (x - whole) * kLn2;
  double sum = 1.0;
  for (int term = 9; term > 0; --term)
    sum = 1.0 + sum * t / term;
  return std::ldexp(sum, static_cast<int>(whole));
}

/// ln(x) for x > 0 to about 1e-12, likewise.
double logarithm(double x) {
  int exponent = 0;
  const double half = std::frexp(x, &exponent);  // in [0.5, 1)
  const double z = (half - 0.75) / (half + 0.75);
  const double square = z * z;
  double sum = 0.0;
  for (int term = 17; term > 0; term -= 2)
    sum = sum * square + 1.0 / term;
  constexpr double kLogOf075 = -0.2876820724517809;
  return 2.0 * z * sum + kLogOf075 + exponent * kLn2;
}

/// Uniform in [0, 1).
double uniform(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Approximately normal: the sum of twelve uniform 16-bit numbers. At most 6 in magnitude.
double normal(std::uint64_t key) {
  std::int64_t sum = 0;
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    const std::uint64_t bits = mix(key, draw);
    for (int shift = 0; shift < 64; shift += 16) {
      sum += (bits >> shift) & 0xFFFF;
    }
  }
  return static_cast<double>(sum) * 0x1p-16 - 6.0;
}

/// Counts how often each rank was drawn for one row, in a small hash table.
class DrawnRanks {
 public:
  void begin(std::size_t length) {
    slots_.assign(std::bit_ceil(4 * length), 0);
    drawn_.clear();
  }

  std::size_t size() const { return drawn_.size(); }
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& drawn() const { return drawn_; }

  void add(std::uint32_t rank) {
    std::size_t slot = (rank * std::size_t{0x9E3779B1}) & (slots_.size() - 1);
    while (slots_[slot] != 0 && drawn_[slots_[slot] - 1].first != rank) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    if (slots_[slot] == 0) {
      drawn_.emplace_back(rank, 0);
      slots_[slot] = static_cast<std::uint32_t>(drawn_.size());
    }
    ++drawn_[slots_[slot] - 1].second;
  }

 private:
  std::vector<std::uint32_t> slots_;  // index in drawn_ plus 1; 0: empty
  std::vector<std::pair<std::uint32_t, std::uint32_t>> drawn_;
};

const RowLengths& lengths_of(const CorpusPreset& preset, CorpusSide side) {
  return side == CorpusSide::kQueries ? preset.queries : preset.items;
}

/// Different seeds, and the two sides of one seed, are independent.
std::uint64_t key_of(std::uint64_t seed, CorpusSide side, std::int64_t row) {
  return mix(mix(seed, static_cast<std::uint64_t>(side)), row);
}

std::vector<Column> shuffled_columns(std::int64_t count) {
  constexpr std::uint64_t kShuffle = 0x62756C6B73696D;  // the same for every seed
  std::vector<Column> columns(count);
  std::iota(columns.begin(), columns.end(), Column{0});
  for (std::size_t left = columns.size(); left > 1; --left) {
    std::swap(columns[left - 1], columns[mix(kShuffle, left) % left]);
  }
  return columns;
}

}  // namespace

const CorpusPreset& find_corpus_preset(std::string_view name) {
  std::string known;
  for (const CorpusPreset& preset : kPresets) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw Error(ExitCode::kUsage,
              "unknown corpus preset '" + std::string(name) + "': choose one of " + known);
}

SyntheticCorpus::SyntheticCorpus(const CorpusPreset& preset, std::uint64_t seed)
    : preset_(preset), seed_(seed), columns_(shuffled_columns(preset.columns)) {
  const double size = static_cast<double>(preset_.columns);
  const double span = logarithm((size + preset_.offset) / preset_.offset);
  log2_span_ = span / kLn2;
  idf_.reserve(columns_.size());
  for (std::int64_t rank = 0; rank < preset_.columns; ++rank) {
    // inverse of the share of rows with the column, if no row drew it twice
    const double rarity = (static_cast<double>(rank) + 0.5 + preset_.offset) * span;
    idf_.push_back(1.0 + logarithm(1.0 + rarity / preset_.items.mean));
  }
}

std::int64_t SyntheticCorpus::row_length(CorpusSide side, std::int64_t row) const {
  const RowLengths& lengths = lengths_of(preset_, side);
  // the mean of a log-normal distribution is larger than its median
  const double median_shift = 0.5 * kLn2 * lengths.spread * lengths.spread;
  const double log2 = normal(key_of(seed_, side, row)) * lengths.spread - median_shift;
  const double length = std::floor(lengths.mean * power_of_two(log2) + 0.5);
  const double longest = static_cast<double>(preset_.columns) / 8.0;
  return static_cast<std::int64_t>(std::clamp(length, 1.0, longest));
}

std::vector<std::int64_t> SyntheticCorpus::row_offsets(CorpusSide side, std::int64_t rows) const {
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(rows + 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    offsets.push_back(offsets.back() + row_length(side, row));
  }
  return offsets;
}

void SyntheticCorpus::generate(CorpusSide side, RowRange range, CsrMatrix& out) const {
  out.clear();
  out.columns = preset_.columns;
  DrawnRanks ranks;
  std::vector<std::pair<Column, double>> entries;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const std::uint64_t key = key_of(seed_, side, row);
    const std::size_t length = row_length(side, row);
    ranks.begin(length);
    for (std::uint64_t draw = 3; ranks.size() < length; ++draw) {
      const double power = power_of_two(uniform(mix(key, draw)) * log2_span_);
      const auto rank = static_cast<std::int64_t>(preset_.offset * (power - 1.0));
      ranks.add(static_cast<std::uint32_t>(std::clamp<std::int64_t>(rank, 0, preset_.columns - 1)));
    }
    entries.clear();
    for (const auto& [rank, times] : ranks.drawn()) {
      const double value = idf_[rank] * (1.0 + logarithm(times));
      entries.emplace_back(columns_[rank], static_cast<float>(value));
    }
    std::ranges::sort(entries);
    for (const auto& [column, value] : entries) {
      out.col_indices.push_back(column);
      out.values.push_back(value);
    }
    out.row_offsets.push_back(std::ssize(out.values));
  }
}

}  // namespace bulksim
