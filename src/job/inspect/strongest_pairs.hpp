#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace bulksim {

/// A cell of the matrix.
struct ScoredPair {
  float score = 0;
  std::int64_t query = 0;
  std::int64_t item = 0;

  /// By descending score, then by row and column.
  bool operator<(const ScoredPair& other) const {
    return std::tuple(-score, query, item) < std::tuple(-other.score, other.query, other.item);
  }
};

/// The strongest pairs seen so far, at most `most`.
class StrongestPairs {
 public:
  explicit StrongestPairs(std::int64_t most) : most_(static_cast<std::size_t>(most)) {}

  /// NaN is ignored.
  void add(ScoredPair pair) {
    if (std::isnan(pair.score) || most_ == 0) return;
    if (pairs_.size() == most_ && !(pair < pairs_.front())) return;
    pairs_.push_back(pair);
    std::push_heap(pairs_.begin(), pairs_.end());
    if (pairs_.size() > most_) {
      std::pop_heap(pairs_.begin(), pairs_.end());
      pairs_.pop_back();
    }
  }

  /// The strongest first.
  std::vector<ScoredPair> sorted() const {
    auto pairs = pairs_;
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

 private:
  std::size_t most_;
  std::vector<ScoredPair> pairs_;  // a heap with the weakest in front
};

}  // namespace bulksim
