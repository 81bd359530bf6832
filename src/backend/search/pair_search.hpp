#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "backend/search/search_block.hpp"
#include "backend/search/search_kernel.hpp"
#include "backend/search/search_queries.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// What to search for in one block of items for one query.
struct SearchGoal {
  std::int64_t query = 0;  ///< row within the batch
  /// Lower scores are not wanted.
  float score = -std::numeric_limits<float>::infinity();
  /// If not 0, only this many best items of the block are wanted.
  std::int64_t best = 0;
  /// The number of items without a shared column that may be wanted: the first ones.
  std::int64_t zeros = 0;
};

/// Bytes of a column or row to prefetch.
inline constexpr std::size_t kBytesAhead = 192;

/// A candidate with its exact sum.
struct ExactPair {
  std::int64_t item;  ///< within the rows from which the block was built
  std::int64_t sum;
};

/// Finds the items of a block that can reach a score, by bounds, and computes their sums exactly.
///
/// The entries of a query in its most frequent columns (the "rest") are left out of the coarse sums
/// as long as they cannot lift an item over the threshold: by Cauchy-Schwarz they add at most the
/// length of the query's rest times that of the item's. Coarse sums are off by at most sqrt(n) 2^14
/// + n / 4 for n entries, since each factor is off by half of one.
class PairSearch {
 public:
  explicit PairSearch(const SearchKernel& kernel);

  void begin_queries(const SearchQueries& queries);
  /// Appends the sums of all items that can pass, and possibly of others, items ascending; false if
  /// a check fails.
  bool find(const SearchGoal& goal, const SearchBlock& block, const LabelledRows& items,
            std::vector<ExactPair>& out);

  /// The work done since the last call.
  PairStats take_work();

  static std::int64_t bytes(std::int64_t longest, std::int64_t labels, std::int64_t queries);

 private:
  struct Column {
    std::uint32_t start;
    std::uint32_t size;
    std::int32_t weight;
    std::int32_t sum;
  };
  /// The entries of a query present in a block, without those of the first bands.
  struct BandSuffix {
    std::size_t first = 0;      ///< column; those before it are the rest
    std::int64_t postings = 0;  ///< of the columns that are added
    float rest = 0.0f;          ///< length of the rest, times kCoarseOne
  };

  void collect(const SearchGoal& goal, const SearchBlock& block);
  float limit_of(const SearchGoal& goal, const SearchBlock& block) const;
  std::size_t choose_suffix(float limit, const SearchBlock& block, float share);
  std::size_t sieve(std::size_t bands, float limit, const SearchBlock& block);
  std::size_t sweep(const SearchBlock& block, const Sieve& sieve);
  std::size_t visit(const SearchBlock& block, const BandSuffix& suffix, const Sieve& sieve);
  std::size_t find_best(const SearchGoal& goal, float limit, const SearchBlock& block);
  std::size_t touch(std::int64_t zeros, const SearchBlock& block);
  void add_columns(const SearchBlock& block, const BandSuffix& suffix);
  bool make_exact(const SearchGoal& goal, std::size_t bands, const SearchBlock& block,
                  const LabelledRows& items, std::vector<ExactPair>& out);
  void adapt(const SearchGoal& goal, std::size_t bands, std::int64_t entries);

  // Measured costs in multiply-adds.
  static constexpr float kSweepCost = 0.09f;  // per item
  static constexpr float kVisitCost = 2.2f;   // per posting that is added and visited
  static constexpr std::size_t kBins = 1024;  // of the histogram of sums
  static constexpr int kBinShift = 19;        // 2^28 / 512

  const SearchKernel& kernel_;
  const SearchQueries* queries_ = nullptr;
  PairStats work_;
  std::vector<float> shares_;  // by query: the share of the limit that the rest may take
  std::vector<Column> columns_;
  std::size_t column_count_ = 0;
  float slack_ = 0.0f;
  BandSuffix suffixes_[kBands + 1];
  float most_ = 0.0f;  // upper bound of what all columns add, by their largest values
  AlignedBuffer<std::int32_t> sums_;
  AlignedBuffer<Candidate> candidates_;
  std::size_t candidate_count_ = 0;
  std::uint32_t expected_ = 0;  // total of the sums, from the rows
  std::uint32_t total_ = 0;
  std::vector<std::int32_t> query_values_;  // by label: of the current query, else 0
  std::vector<std::uint32_t> histogram_;
};

}  // namespace bulksim
