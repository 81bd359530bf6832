// Which items of a block are candidates: the steps of PairSearch between the choice of a band
// border and the exact sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/rows/prefetch.hpp"
#include "backend/search/pair_search.hpp"

namespace bulksim {

void PairSearch::add_columns(const SearchBlock& block, const BandSuffix& suffix) {
  std::uint32_t expected = 0;
  for (std::size_t at = suffix.first; at < column_count_; ++at) {
    const Column& column = columns_[at];
    prefetch(block.postings() + columns_[at + 1].start,
             kBytesAhead);  // columns_ has one more element than counted
    kernel_.add(block.postings() + column.start, column.size, column.weight, sums_.data());
    expected += static_cast<std::uint32_t>(column.weight) * static_cast<std::uint32_t>(column.sum);
  }
  expected_ = expected;
  work_.products += suffix.postings;
}

std::size_t PairSearch::sieve(std::size_t bands, float limit, const SearchBlock& block) {
  const BandSuffix& suffix = suffixes_[bands];
  add_columns(block, suffix);
  const std::size_t lengths_of = bands == 0 ? 0 : bands - 1;
  const Sieve sieve{block.lengths(lengths_of), suffix.rest, limit};
  const auto postings = static_cast<float>(suffix.postings);
  const bool untouched_pass = suffix.rest * block.longest(lengths_of) >= limit;
  if (untouched_pass ||
      kVisitCost * postings > postings + kSweepCost * static_cast<float>(block.padded())) {
    return sweep(block, sieve);
  }
  return visit(block, suffix, sieve);
}

std::size_t PairSearch::sweep(const SearchBlock& block, const Sieve& sieve) {
  const SieveResult result = kernel_.sweep(sums_.data(), block.padded(), sieve, candidates_.data());
  total_ = result.total;
  std::size_t count = result.candidates;
  // padding passes only if everything does
  while (count > 0 && candidates_.data()[count - 1].item >= block.items())
    --count;
  return count;
}

/// Like sweep(), but only over the items of the few postings; others cannot pass.
std::size_t PairSearch::visit(const SearchBlock& block, const BandSuffix& suffix,
                              const Sieve& sieve) {
  std::int32_t* sums = sums_.data();
  Candidate* candidates = candidates_.data();
  std::size_t count = 0;
  std::uint32_t total = 0;
  for (std::size_t at = suffix.first; at < column_count_; ++at) {
    const CoarsePosting* posting = block.postings() + columns_[at].start;
    for (const CoarsePosting* end = posting + columns_[at].size; posting < end; ++posting) {
      const std::int32_t sum = sums[posting->item];
      sums[posting->item] = 0;
      total += sum;
      const float rest = sieve.rest * sieve.lengths[posting->item];
      candidates[count] = {posting->item, sum};
      count += sum != 0 && static_cast<float>(sum) + rest >= sieve.limit;
    }
  }
  total_ = total;
  std::sort(candidates, candidates + count,
            [](const Candidate& a, const Candidate& b) { return a.item < b.item; });
  return count;
}

/// The candidates if only the best `goal.best` items of the block are wanted.
std::size_t PairSearch::find_best(const SearchGoal& goal, float limit, const SearchBlock& block) {
  const Sieve positive{block.lengths(0), 0.0f, std::max(limit, 1.0f)};
  add_columns(block, suffixes_[0]);
  const std::size_t count = sweep(block, positive);
  Candidate* candidates = candidates_.data();
  std::fill(histogram_.begin(), histogram_.end(), 0U);
  for (std::size_t at = 0; at < count; ++at) {
    ++histogram_[std::min(static_cast<std::size_t>(candidates[at].sum >> kBinShift), kBins - 1)];
  }
  std::size_t bin = kBins;
  for (std::int64_t above = 0; bin > 0 && above < goal.best;)
    above += histogram_[--bin];
  // `goal.best` items have a true sum of at least this bin less the slack: the others must reach
  // that
  const float wanted = static_cast<float>(bin << kBinShift) - 2 * slack_;
  if (std::max(wanted, limit) < 1.0f) return total_ == expected_ ? touch(goal.zeros, block) : 0;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < count; ++at) {
    candidates[kept] = candidates[at];
    kept += static_cast<float>(candidates[at].sum) >= wanted;
  }
  return kept;
}

/// All items that share a column with the query, and the first `zeros` others.
std::size_t PairSearch::touch(std::int64_t zeros, const SearchBlock& block) {
  constexpr std::int32_t kTouched = std::numeric_limits<std::int32_t>::min();
  add_columns(block, suffixes_[0]);
  std::int32_t* sums = sums_.data();
  Candidate* candidates = candidates_.data();
  std::size_t count = 0;
  std::uint32_t total = 0;
  for (std::size_t at = 0; at < column_count_; ++at) {
    const CoarsePosting* posting = block.postings() + columns_[at].start;
    for (const CoarsePosting* end = posting + columns_[at].size; posting < end; ++posting) {
      const std::int32_t sum = sums[posting->item];
      if (sum == kTouched) continue;
      sums[posting->item] = kTouched;
      total += sum;
      candidates[count++] = {posting->item, sum};
    }
  }
  for (std::uint32_t item = 0; zeros > 0 && item < block.items(); ++item) {
    if (sums[item] == kTouched) continue;
    candidates[count++] = {item, 0};
    --zeros;
  }
  std::fill_n(sums, block.padded(), 0);
  total_ = total;
  std::sort(candidates, candidates + count,
            [](const Candidate& a, const Candidate& b) { return a.item < b.item; });
  return count;
}

}  // namespace bulksim
