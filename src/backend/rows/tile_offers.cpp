#include "backend/rows/tile_offers.hpp"

#include <algorithm>
#include <functional>

namespace bulksim {

void TileOffers::begin() {
  preferences_.clear();
  ends_.clear();
}

std::span<const std::uint64_t> TileOffers::keep(const ResultCut& cut, std::int64_t query,
                                                std::int64_t row, std::uint64_t floor,
                                                std::vector<ScoredItem>& pairs) {
  const std::size_t begin = preferences_.size();
  preferences_.resize(begin + pairs.size());
  std::size_t kept = 0;
  for (const ScoredItem& pair : pairs) {  // which are above the floor cannot be predicted
    const std::uint64_t key = preference(cut, query, pair.item, pair.score);
    preferences_[begin + kept] = key;
    pairs[kept] = pair;
    kept += key > floor;
  }
  preferences_.resize(begin + kept);
  pairs.resize(kept);
  const auto count = static_cast<std::size_t>(cut.count);
  if (preferences_.size() - begin > count) {
    const auto first = preferences_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::nth_element(first, first + cut.count - 1, preferences_.end(), std::greater<>());
    const std::uint64_t least = preferences_[begin + count - 1];
    preferences_.resize(begin + count);
    std::erase_if(pairs, [&](const ScoredItem& pair) {
      return preference(cut, query, pair.item, pair.score) < least;
    });
  }
  ends_.emplace_back(row, preferences_.size());
  return std::span(preferences_).subspan(begin);
}

void TileOffers::offer_to(BestPreferences& best) const {
  std::size_t begin = 0;
  for (const auto& [row, end] : ends_) {
    best.offer(row, std::span(preferences_).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace bulksim
