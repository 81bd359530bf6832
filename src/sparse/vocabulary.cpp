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

Vocabulary::Vocabulary(const QuantizedRows& queries, std::int64_t least_frequency)
    : columns_(static_cast<Column>(std::min(queries.columns, kMostColumns - 1))) {
  members_.reset(queries.columns);
  for (const Column column : queries.col_indices)
    members_.insert(column);
  std::vector<std::int64_t> frequency(members_.rank());
  for (const Column column : queries.col_indices)
    ++frequency[members_.find(column)];
  if (least_frequency > 1) {
    members_.drop([&](std::uint32_t rank) { return frequency[rank] < least_frequency; });
    std::erase_if(frequency, [&](std::int64_t of_column) { return of_column < least_frequency; });
  }

  // a counting sort, the most frequent first
  const std::int64_t most = frequency.empty() ? 0 : std::ranges::max(frequency);
  std::vector<std::uint32_t> next(most + 2);  // by most - frequency
  for (const std::int64_t of_column : frequency)
    ++next[most - of_column + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  labels_.resize(frequency.size() + 1);
  for (std::size_t rank = 0; rank < frequency.size(); ++rank)
    labels_[rank] = next[most - frequency[rank]]++;
}

}  // namespace bulksim
