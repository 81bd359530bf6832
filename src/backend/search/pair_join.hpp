#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/search/join_index.hpp"
#include "backend/search/pair_search.hpp"
#include "backend/search/search_kernel.hpp"
#include "backend/search/search_queries.hpp"

namespace bulksim {

/// Finds the items that can reach a score through their rare columns, and computes their sums
/// exactly.
///
/// Columns are ordered by frequency. A pair that reaches the score shares a column outside the
/// prefixes of both rows, because the prefix of one row, whose columns are the most frequent, times
/// the whole other row cannot reach it (Cauchy-Schwarz). At its rarest shared column it passes one
/// test: x w + p q reaches the score, where x and w are the two values there and p and q the
/// lengths of the more frequent columns of each row, since everything else that the rows share is
/// more frequent. The values may have any sign: x w is compared with its sign, p q bounds the rest
/// from above. So a query streams the postings of its suffix through that test, and what passes is
/// computed from the rows. (The prefixes are those of Anastasiu and Karypis, "L2AP", ICDE 2014.)
class PairJoin {
 public:
  explicit PairJoin(const SearchKernel& kernel) : kernel_(kernel) {}

  void begin_queries(const SearchQueries& queries);
  /// Appends the sums of all items of `wanted` (a range of the index's rows) that can reach
  /// goal.score, and possibly of others, in any order. `items` are those of the index.
  void find(const SearchGoal& goal, RowRange wanted, const JoinIndex& index,
            const LabelledRows& items, std::vector<ExactPair>& out);
  /// Fetches what find() will look up first for a query of the same batch.
  void prefetch(std::int64_t query, const JoinIndex& index) const;

  /// The work done since the last call.
  PairStats take_work();

  static std::int64_t bytes(std::int64_t labels);

 private:
  /// The postings of one entry of the query.
  struct List {
    std::uint32_t at;
    std::uint32_t end;
    float value;
    float before;
  };

  void collect(const SearchGoal& goal, RowRange wanted, const JoinIndex& index, double least);
  void test(const JoinIndex& index, float limit);
  void make_exact(std::int64_t query, const JoinIndex& index, const LabelledRows& items,
                  std::vector<ExactPair>& out);

  const SearchKernel& kernel_;
  const SearchQueries* queries_ = nullptr;
  PairStats work_;
  std::vector<List> lists_;
  std::vector<std::uint16_t> candidates_;
  std::size_t candidate_count_ = 0;
  std::vector<std::uint32_t> seen_ = std::vector<std::uint32_t>(kJoinItems);  // by item: last query
  std::uint32_t turn_ = 0;
  std::vector<std::int32_t> query_values_;  // by label: of the current query, else 0
};

}  // namespace bulksim
