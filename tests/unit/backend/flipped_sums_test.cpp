#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "backend/rows/labelled_rows.hpp"
#include "backend/rows/tile_checks.hpp"
#include "sparse/vocabulary.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

constexpr std::int64_t kQueries = 30;
constexpr std::int64_t kItems = 50;
constexpr int kTrials = 10'000;

/// A tile of exact sums and its column identity.
class Tile {
 public:
  Tile() : vocabulary_(queries_) {
    LabelledRows queries;
    queries.assign(queries_, {0, kQueries}, vocabulary_);
    items_.assign(item_rows_, {0, kItems}, vocabulary_);
    identity_.expect(queries, {0, kQueries}, vocabulary_.size());
    for (std::int64_t query = 0; query < kQueries; ++query) {
      for (std::int64_t item = 0; item < kItems; ++item) {
        sums_.push_back(exact_sum(queries_, query, item_rows_, item));
      }
    }
  }

  /// A(q,i), as between the kernel and its check.
  std::int64_t& sum(std::int64_t query, std::int64_t item) {
    return sums_[static_cast<std::size_t>(query * kItems + item)];
  }

  /// The items of the tile whose check fails.
  std::int64_t failures() const {
    std::vector<std::int64_t> columns(kItems, 0);
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      auto& column = reinterpret_cast<std::uint64_t&>(columns[at % kItems]);
      column += static_cast<std::uint64_t>(sums_[at]);
    }
    return identity_.failures(items_, {0, kItems}, columns.data());
  }

 private:
  QuantizedRows queries_ = test::quantized_rows(test::random_rows(kQueries, 40, 6, 1));
  QuantizedRows item_rows_ = test::quantized_rows(test::random_rows(kItems, 40, 8, 2));
  Vocabulary vocabulary_;
  LabelledRows items_;
  ColumnIdentity identity_;
  std::vector<std::int64_t> sums_;
};

TEST(FlippedSums, AnyBitOfAnySumIsFoundInItsColumnAlone) {
  Tile tile;
  test::Random random(3);
  int found = 0;

  for (int trial = 0; trial < kTrials; ++trial) {
    auto& sum = tile.sum(random.below(kQueries), random.below(kItems));
    const std::int64_t right = sum;
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(right) ^
                                    (std::uint64_t{1} << random.below(64)));
    found += tile.failures() == 1 ? 1 : 0;
    sum = right;
  }

  EXPECT_EQ(found, kTrials);
  EXPECT_EQ(tile.failures(), 0);
}

}  // namespace
}  // namespace bulksim
