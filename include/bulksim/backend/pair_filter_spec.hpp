#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

/// Items that a query is paired with.
enum class Partners {
  kAll,         ///< every item
  kOthers,      ///< every item but the one with the number of the query
  kLater,       ///< items after the number of the query: of two equal sides, each pair once
  kNotEarlier,  ///< the same and the one with the number of the query
};

/// What is kept of the pairs of a query that pass, when not all are.
enum class Keep {
  kAll,
  kBest,    ///< the `count` of the highest scores, ties by item
  kSample,  ///< `count` drawn uniformly: those with the smallest hash of seed, query and item
};

/// End of a range of rows that has none.
inline constexpr std::int64_t kEveryRow = std::numeric_limits<std::int64_t>::max();

/// Which pairs of the matrix are wanted. The scores compared are the float32 of the full matrix.
struct PairFilterSpec {
  float at_least = -std::numeric_limits<float>::infinity();
  float below = std::numeric_limits<float>::infinity();
  bool nonzero_only = false;
  Partners partners = Partners::kAll;
  /// Of a matrix compared with itself: each pair found stands for its mirror image, too.
  bool mirrored = false;
  RowRange queries{0, kEveryRow};
  RowRange items{0, kEveryRow};
  Keep keep = Keep::kAll;
  std::int64_t count = 0;  ///< a query, with kBest and kSample
  std::uint64_t seed = 0;  ///< of kSample

  /// Whether a pair is wanted, leaving `keep` aside.
  bool admits(std::int64_t query, std::int64_t item, float score) const {
    return score >= at_least && score < below && (!nonzero_only || score != 0.0f) &&
           pairs(query, item);
  }
  bool pairs(std::int64_t query, std::int64_t item) const {
    return queries.begin <= query && query < queries.end && items.begin <= item &&
           item < items.end && are_partners(query, item);
  }
  /// Whether any cell of these rows and columns can be wanted.
  bool touches(RowRange query_rows, RowRange item_rows) const {
    const std::int64_t first = std::max(query_rows.begin, queries.begin);
    const std::int64_t last = std::min(item_rows.end, items.end) - 1;
    return first < std::min(query_rows.end, queries.end) &&
           std::max(item_rows.begin, items.begin) <= last &&
           (is_two_sided() || are_partners(first, last));
  }
  /// Whether items before a query can be its partners.
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

/// Items of a matrix with `kBest` or `kSample`: numbers of items have 32 bits there.
inline constexpr std::int64_t kMostRankedItems = std::int64_t{1} << 32;

/// Order in which `keep` prefers the pairs of one query: larger is better, and no two items have
/// the same. Its low half tells the item.
inline std::uint64_t rank_key(const PairFilterSpec& spec, std::int64_t query, std::int64_t item,
                              float score) {
  // bits that order as the numbers do
  const auto bits = std::bit_cast<std::uint32_t>(score);
  std::uint64_t high = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  if (spec.keep == Keep::kSample) {
    high =
        mix(mix(spec.seed, static_cast<std::uint64_t>(query)), static_cast<std::uint64_t>(item)) >>
        32;
  }
  return high << 32 | (~static_cast<std::uint64_t>(item) & 0xFFFFFFFF);
}
inline std::int64_t item_of(std::uint64_t rank_key) {
  return static_cast<std::int64_t>(~rank_key & 0xFFFFFFFF);
}
/// The score that a kBest rank key was made of.
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
