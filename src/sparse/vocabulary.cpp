#include "sparse/vocabulary.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
  if (least_frequency > 1) drop_rare(queries, least_frequency, frequency);

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

/// Removes the columns that occur less often, with their frequencies.
void Vocabulary::drop_rare(const QuantizedRows& queries, std::int64_t least_frequency,
                           std::vector<std::int64_t>& frequency) {
  RankedSet kept;
  kept.reset(queries.columns);
  for (const Column column : queries.col_indices) {
    if (frequency[members_.find(column)] >= least_frequency) kept.insert(column);
  }
  kept.rank();
  members_ = std::move(kept);
  std::erase_if(frequency, [&](std::int64_t of_column) { return of_column < least_frequency; });
}

}  // namespace bulksim
