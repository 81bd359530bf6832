#include "sparse/vocabulary.hpp"

#include <iterator>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::matrix_of;
using test::quantized_rows;

TEST(RankedSet, KnowsTheRankOfEveryMemberAndNothingElse) {
  const std::set<std::uint32_t> members{0, 1, 62, 63, 64, 65, 127, 128, 190, 199};
  RankedSet set;
  set.reset(200);
  for (const std::uint32_t member : members)
    set.insert(member);

  const std::uint32_t count = set.rank();

  EXPECT_EQ(count, members.size());
  for (std::uint32_t number = 0; number < 200; ++number) {
    const auto found = members.find(number);
    const auto expected = found == members.end()
                              ? RankedSet::kAbsent
                              : static_cast<std::uint32_t>(std::distance(members.begin(), found));
    ASSERT_EQ(set.find(number), expected) << number;
  }
}

TEST(RankedSet, ANumberInsertedTwiceIsOneMember) {
  RankedSet set;
  set.reset(10);
  set.insert(4);
  set.insert(4);

  const std::uint32_t count = set.rank();

  EXPECT_EQ(count, 1U);
}

TEST(RankedSet, ResetForgetsEverything) {
  RankedSet set;
  set.reset(100);
  set.insert(70);
  set.rank();

  set.reset(100);
  const std::uint32_t count = set.rank();

  EXPECT_EQ(count, 0U);
  EXPECT_EQ(set.find(70), RankedSet::kAbsent);
}

TEST(RankedSet, OfSizeZeroIsEmpty) {
  RankedSet set;
  set.reset(0);

  const std::uint32_t count = set.rank();

  EXPECT_EQ(count, 0U);
}

TEST(Vocabulary, NumbersColumnsByDescendingFrequencyThenByColumn) {
  const Vocabulary vocabulary(quantized_rows(matrix_of(
      100, {{{7, 1.0}, {50, 1.0}, {99, 1.0}}, {{7, 1.0}, {99, 1.0}}, {{3, 1.0}, {99, 1.0}}})));

  EXPECT_EQ(vocabulary.size(), 4U);
  EXPECT_EQ(vocabulary.label(99), 0U);
  EXPECT_EQ(vocabulary.label(7), 1U);
  EXPECT_EQ(vocabulary.label(3), 2U);
  EXPECT_EQ(vocabulary.label(50), 3U);
}

TEST(Vocabulary, ColumnsThatNoQueryHasAreAbsent) {
  const Vocabulary vocabulary(quantized_rows(matrix_of(100, {{{7, 1.0}}})));

  EXPECT_EQ(vocabulary.label(0), RankedSet::kAbsent);
  EXPECT_EQ(vocabulary.label(99), RankedSet::kAbsent);
}

TEST(Vocabulary, ColumnsBeyondTheQueriesAreAbsent) {
  const Vocabulary vocabulary(quantized_rows(matrix_of(64, {{{63, 1.0}}})));

  EXPECT_EQ(vocabulary.label(64), RankedSet::kAbsent);
  EXPECT_EQ(vocabulary.label(0xFFFFFFFE), RankedSet::kAbsent);
}

TEST(Vocabulary, KnowsTheLargestColumnNumber) {
  const std::int64_t columns = std::int64_t{1} << 32;
  const Vocabulary vocabulary(quantized_rows(matrix_of(columns, {{{5, 1.0}, {0xFFFFFFFF, 1.0}}})));

  EXPECT_EQ(vocabulary.label(0xFFFFFFFF), 1U);
  EXPECT_EQ(vocabulary.label(0xFFFFFFFE), RankedSet::kAbsent);
}

TEST(Vocabulary, WithoutQueriesIsEmpty) {
  const Vocabulary of_nothing;
  const Vocabulary of_empty_rows(quantized_rows(matrix_of(100, {{}, {}})));

  EXPECT_EQ(of_nothing.size(), 0U);
  EXPECT_EQ(of_nothing.label(0), RankedSet::kAbsent);
  EXPECT_EQ(of_empty_rows.size(), 0U);
  EXPECT_EQ(of_empty_rows.label(5), RankedSet::kAbsent);
}

TEST(Vocabulary, LabelsAreABijection) {
  const QuantizedRows queries = quantized_rows(test::random_rows(200, 5000, 12, 4));
  const Vocabulary vocabulary(queries);

  std::set<std::uint32_t> labels;
  for (const Column column : queries.col_indices)
    labels.insert(vocabulary.label(column));

  EXPECT_EQ(labels.size(), vocabulary.size());
  EXPECT_EQ(*labels.rbegin(), vocabulary.size() - 1);
}

}  // namespace
}  // namespace bulksim
