#include "backend/rows/pending_top_k.hpp"

#include <algorithm>
#include <functional>

namespace bulksim {

void PendingTopK::begin() {
  rank_keys_.clear();
  ends_.clear();
}

std::span<const std::uint64_t> PendingTopK::keep(const PairFilterSpec& spec, std::int64_t query,
                                                 std::int64_t row, std::uint64_t floor,
                                                 std::vector<ScoredItem>& pairs) {
  const std::size_t begin = rank_keys_.size();
  rank_keys_.resize(begin + pairs.size());
  std::size_t kept = 0;
  for (const ScoredItem& pair : pairs) {  // branch-free: the comparison is unpredictable
    const std::uint64_t key = rank_key(spec, query, pair.item, pair.score);
    rank_keys_[begin + kept] = key;
    pairs[kept] = pair;
    kept += key > floor;
  }
  rank_keys_.resize(begin + kept);
  pairs.resize(kept);
  const std::size_t count = spec.count;
  if (rank_keys_.size() - begin > count) {
    const auto first = rank_keys_.begin() + begin;
    std::nth_element(first, first + spec.count - 1, rank_keys_.end(), std::greater<>());
    const std::uint64_t least = rank_keys_[begin + count - 1];
    rank_keys_.resize(begin + count);
    std::erase_if(pairs, [&](const ScoredItem& pair) {
      return rank_key(spec, query, pair.item, pair.score) < least;
    });
  }
  ends_.emplace_back(row, rank_keys_.size());
  return std::span(rank_keys_).subspan(begin);
}

void PendingTopK::push_to(TopKHeaps& best) const {
  std::size_t begin = 0;
  for (const auto& [row, end] : ends_) {
    best.push(row, std::span(rank_keys_).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace bulksim
