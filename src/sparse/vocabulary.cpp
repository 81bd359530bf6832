#include "sparse/vocabulary.hpp"

#include <algorithm>
#include <numeric>

namespace bulksim {

std::uint32_t RankedSet::rank() {
  std::uint32_t members = 0;
  for (Word& word : words_) {
    word.before = members;
    members += std::popcount(word.bits);
  }
  return members;
}

Vocabulary::Vocabulary(const QuantizedRows& queries)
    : columns_(static_cast<Column>(std::min(queries.columns, kMostColumns - 1))) {
  members_.reset(queries.columns);
  for (const Column column : queries.col_indices)
    members_.insert(column);
  std::vector<std::int64_t> frequency(members_.rank());
  for (const Column column : queries.col_indices)
    ++frequency[members_.find(column)];

  std::vector<std::uint32_t> order(frequency.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return frequency[a] > frequency[b]; });
  labels_.resize(order.size() + 1);
  for (std::size_t label = 0; label < order.size(); ++label) {
    labels_[order[label]] = static_cast<std::uint32_t>(label);
  }
}

}  // namespace bulksim
