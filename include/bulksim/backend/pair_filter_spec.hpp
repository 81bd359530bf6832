#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// The items with which a query is paired.
enum class Partners {
  kAll,         ///< every item
  kOthers,      ///< every item except the one with the same number as the query
  kLater,       ///< items with a larger number: each pair once when both sides are the same matrix
  kNotEarlier,  ///< as kLater, and the item with the same number
};

/// Which of the pairs of a query that pass the filter are kept.
enum class Keep {
  kAll,
  kBest,    ///< the `count` highest scores, by item number where scores are equal
  kSample,  ///< `count` drawn uniformly: those with the largest hash of seed, query and item
};

/// End of an unlimited range of rows.
inline constexpr std::int64_t kEveryRow = std::numeric_limits<std::int64_t>::max();

/// Which pairs of the matrix are wanted. Thresholds are compared with the float32 scores of the
/// full matrix.
struct PairFilterSpec {
  float at_least = -std::numeric_limits<float>::infinity();
  float below = std::numeric_limits<float>::infinity();
  bool nonzero_only = false;
  Partners partners = Partners::kAll;
  /// For a matrix compared with itself: each pair also stands for its mirror image. With kBest, the
  /// backend has to offer it to the row of the item too.
  bool mirrored = false;
  RowRange queries{0, kEveryRow};
  RowRange items{0, kEveryRow};
  Keep keep = Keep::kAll;
  std::int64_t count = 0;  ///< per query; for kBest and kSample
  std::uint64_t seed = 0;  ///< for kSample

  /// Whether a pair passes the filter; `keep` is ignored.
  bool admits(std::int64_t query, std::int64_t item, float score) const {
    return score >= at_least && score < below && (!nonzero_only || score != 0.0f) &&
           pairs(query, item);
  }
  bool pairs(std::int64_t query, std::int64_t item) const {
    return queries.begin <= query && query < queries.end && items.begin <= item &&
           item < items.end && are_partners(query, item);
  }
  /// Whether any cell in these rows and columns can pass.
  bool touches(RowRange query_rows, RowRange item_rows) const {
    const std::int64_t first = std::max(query_rows.begin, queries.begin);
    const std::int64_t last = std::min(item_rows.end, items.end) - 1;
    return first < std::min(query_rows.end, queries.end) &&
           std::max(item_rows.begin, items.begin) <= last &&
           (is_two_sided() || are_partners(first, last));
  }
  /// Whether an item with a smaller number than the query can be its partner.
  bool is_two_sided() const { return partners == Partners::kAll || partners == Partners::kOthers; }
  bool operator==(const PairFilterSpec&) const = default;

 private:
  bool are_partners(std::int64_t query, std::int64_t item) const {
    switch (partners) {
      case Partners::kOthers:
        return item != query;
      case Partners::kLater:
        return item > query;
      case Partners::kNotEarlier:
        return item >= query;
      case Partners::kAll:
        break;
    }
    return true;
  }
};

/// Largest number of items with `kBest` or `kSample`, where a rank key has 32 bits for the item.
inline constexpr std::int64_t kMostRankedItems = std::int64_t{1} << 32;

/// Rank of a pair among those of its query for `keep`: larger is better, and keys are unique. The
/// low 32 bits are the inverted item number, so that the smaller item wins where scores are equal.
inline std::uint64_t rank_key(const PairFilterSpec& spec, std::int64_t query, std::int64_t item,
                              float score) {
  // unsigned bits in the same order as the float values
  const auto bits = std::bit_cast<std::uint32_t>(score);
  std::uint64_t high = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  if (spec.keep == Keep::kSample) {
    high = mix(mix(spec.seed, query), item) >> 32;
  }
  return high << 32 | (~static_cast<std::uint64_t>(item) & 0xFFFFFFFF);
}
inline std::int64_t item_of(std::uint64_t rank_key) {
  return static_cast<std::uint32_t>(~rank_key);
}
/// The score encoded in a rank key of kBest.
inline float score_of(std::uint64_t rank_key) {
  const auto high = static_cast<std::uint32_t>(rank_key >> 32);
  return std::bit_cast<float>((high >> 31) != 0 ? high & 0x7FFFFFFFU : ~high);
}

struct ScoredItem {
  std::int64_t item = 0;  ///< row of the item matrix
  float score = 0.0f;

  bool operator==(const ScoredItem&) const = default;
};

}  // namespace bulksim
