#include "backend/search/search_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

void SearchBlock::build(const LabelledRows& items, RowRange rows, const SearchQueries& queries) {
  rows_ = rows;
  unit_ = 0.0;
  for (std::int64_t row = rows.begin; row < rows.end; ++row)
    unit_ = std::max(unit_, items.scale(row));
  if (unit_ == 0.0) unit_ = 1.0;
  padded_ = divide_up(rows.size(), kSweptAtOnce) * kSweptAtOnce;
  measure(items, queries);
  invert(items, queries.vocabulary().size());
}

void SearchBlock::measure(const LabelledRows& items, const SearchQueries& queries) {
  lengths_.require(kBands * padded_);
  std::fill_n(lengths_.data(), kBands * padded_, 0.0f);
  double most = 0.0;
  const std::uint8_t* bands = queries.bands().data();
  for (std::int64_t item = 0; item < rows_.size(); ++item) {
    double squares[kBands] = {};
    for (const LabelledEntry& entry : items.row(rows_.begin + item)) {
      squares[bands[entry.label]] += static_cast<double>(entry.value) * entry.value;
    }
    const double scale = relative_scale(items.scale(rows_.begin + item));
    double sum = 0.0;
    for (std::size_t band = 0; band < kBands; ++band) {
      sum += squares[band] * scale * scale;
      lengths_.data()[band * padded_ + item] = static_cast<float>(std::sqrt(sum));
    }
    most = std::max(most, sum);
  }
  norm_ = std::sqrt(most);
  const float scale = most > 0.0 ? static_cast<float>(1.0 / norm_) * kUp : 0.0f;
  for (std::size_t band = 0; band < kBands; ++band) {
    float* lengths = lengths_.data() + band * padded_;
    float longest = 0.0f;
    float total = 0.0f;
    for (std::size_t item = 0; item < padded_; ++item) {
      lengths[item] *= scale;
      longest = std::max(longest, lengths[item]);
      total += lengths[item];
    }
    longest_[band] = longest;
    mean_[band] = total / static_cast<float>(rows_.size());
  }
}

void SearchBlock::invert(const LabelledRows& items, std::uint32_t labels) {
  const auto entries = items.entries(rows_);
  present_.reset(labels);
  for (const LabelledEntry& entry : entries)
    present_.insert(entry.label);
  const std::uint32_t members = present_.rank();

  columns_.require(std::size_t{members} + 1);
  SearchColumn* columns = columns_.data();
  std::fill_n(columns, std::size_t{members} + 1, SearchColumn{});
  ranks_.require(entries.size());
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    const std::uint32_t rank = present_.find(entries[entry].label);
    ranks_.data()[entry] = rank;
    ++columns[rank].size;
  }
  std::uint32_t start = 0;
  for (std::uint32_t rank = 0; rank <= members; ++rank) {
    columns[rank].start = start;
    start += columns[rank].size;
    columns[rank].size = 0;
  }

  postings_.require(entries.size());
  const double scale = norm_ > 0.0 ? std::ldexp(1.0 / norm_, kCoarseBits) : 0.0;
  const std::uint32_t* rank = ranks_.data();
  for (std::int64_t item = 0; item < rows_.size(); ++item) {
    const double factor = scale * relative_scale(items.scale(rows_.begin + item));
    for (const LabelledEntry& entry : items.row(rows_.begin + item)) {
      SearchColumn& column = columns[*rank++];
      const auto coarse = static_cast<std::int32_t>(round_half_even(entry.value * factor));
      postings_.data()[column.start + column.size++] = {static_cast<std::uint16_t>(item),
                                                        static_cast<std::int16_t>(coarse)};
      column.sum += coarse;
      column.peak = std::max(column.peak, std::abs(coarse));
    }
  }
}

std::int64_t SearchBlock::bytes(std::int64_t nnz, std::int64_t labels) {
  return ranked_set_bytes(labels) + std::min(labels, nnz) * std::int64_t{sizeof(SearchColumn)} +
         nnz * std::int64_t{4 + sizeof(CoarsePosting)} +
         kSearchItems * std::int64_t{kBands * sizeof(float)};
}

}  // namespace bulksim
