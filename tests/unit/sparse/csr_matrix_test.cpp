#include "bulksim/sparse/csr_matrix.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::Entries;
using test::entries_of;
using test::error_of;
using test::matrix_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

CanonicalizationCounts canonical(CsrMatrix& matrix) {
  return canonicalize(matrix, Irregular::kAccept, "x.csr", 0);
}

std::string refusal_of(const std::vector<Entries>& rows) {
  CsrMatrix matrix = matrix_of(10, rows);
  return error_of([&] { canonicalize(matrix, Irregular::kRefuse, "x.csr", 1000); });
}

TEST(CsrView, ASliceIsARangeOfRowsOfTheSameMemory) {
  const CsrMatrix matrix = matrix_of(9, {{{1, 1.0}}, {}, {{2, 2.0}, {8, 3.0}}, {{0, 4.0}}});

  const CsrView slice = matrix.view().slice({1, 3});

  EXPECT_EQ(slice.rows(), 2);
  EXPECT_EQ(slice.nnz(), 2);
  EXPECT_TRUE(slice.columns_of(0).empty());
  EXPECT_EQ(slice.columns_of(1).data(), &matrix.col_indices[1]);
  EXPECT_EQ(slice.values_of(1).back(), 3.0);
}

TEST(CsrView, ASliceOfASliceCountsFromTheSlice) {
  const CsrMatrix matrix = matrix_of(9, {{{1, 1.0}}, {{2, 2.0}}, {{3, 3.0}}, {{4, 4.0}}});

  const CsrView slice = matrix.view().slice({1, 4}).slice({1, 2});

  EXPECT_EQ(slice.rows(), 1);
  EXPECT_EQ(slice.values_of(0).front(), 3.0);
}

TEST(CsrMatrix, ClearKeepsTheMemory) {
  CsrMatrix matrix = matrix_of(9, {{{1, 1.0}, {2, 2.0}}});
  const double* memory = matrix.values.data();

  matrix.clear();
  matrix.values.resize(2);

  EXPECT_EQ(matrix.rows(), 0);
  EXPECT_EQ(matrix.values.data(), memory);
}

TEST(Canonicalize, ARegularMatrixStaysAsItIs) {
  const std::vector<Entries> rows{{{0, 1.0}, {7, -2.0}}, {{3, 0.5}}};
  CsrMatrix matrix = matrix_of(10, rows);

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(entries_of(matrix), rows);
  EXPECT_EQ(counts, CanonicalizationCounts{});
}

TEST(Canonicalize, ColumnsThatDescendAreSorted) {
  CsrMatrix matrix = matrix_of(10, {{{7, 1.0}, {1, 2.0}}});

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(entries_of(matrix), (std::vector<Entries>{{{1, 2.0}, {7, 1.0}}}));
  EXPECT_EQ(counts.unsorted_rows, 1);
}

TEST(Canonicalize, DuplicatesAreSummed) {
  CsrMatrix matrix = matrix_of(10, {{{3, 1.0}, {3, 2.0}}});

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(entries_of(matrix), (std::vector<Entries>{{{3, 3.0}}}));
  EXPECT_EQ(counts.duplicates, 1);
  EXPECT_EQ(counts.unsorted_rows, 0);
}

TEST(Canonicalize, DuplicatesOfAnUnsortedRowAreSummedInTheOrderOfTheFile) {
  // 1 is lost beside 1e17 unless the large ones cancel first
  CsrMatrix lost = matrix_of(10, {{{5, 1.0}, {3, 8.0}, {5, 1e17}, {5, -1e17}}});
  CsrMatrix kept = matrix_of(10, {{{5, 1e17}, {3, 8.0}, {5, -1e17}, {5, 1.0}}});

  canonical(lost);
  canonical(kept);

  EXPECT_EQ(entries_of(lost), (std::vector<Entries>{{{3, 8.0}}}));
  EXPECT_EQ(entries_of(kept), (std::vector<Entries>{{{3, 8.0}, {5, 1.0}}}));
}

TEST(Canonicalize, ExplicitAndCancelledZerosEqualAnEmptyRow) {
  CsrMatrix matrix = matrix_of(10, {{{2, 0.0}, {4, -0.0}}, {{3, 1.0}, {3, -1.0}}, {}});

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(entries_of(matrix), (std::vector<Entries>{{}, {}, {}}));
  EXPECT_EQ(counts.zero_rows, 3);
  EXPECT_EQ(counts.explicit_zeros, 3);
  EXPECT_EQ(counts.duplicates, 1);
}

TEST(Canonicalize, EmptyRowsAreCountedWhereverTheyAre) {
  CsrMatrix matrix = matrix_of(10, {{}, {{0, 1.0}}, {}, {{1, 1.0}}, {}});

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(counts.zero_rows, 3);
  EXPECT_EQ(entries_of(matrix), (std::vector<Entries>{{}, {{0, 1.0}}, {}, {{1, 1.0}}, {}}));
}

TEST(Canonicalize, AMatrixWithoutRowsIsCanonical) {
  CsrMatrix matrix = matrix_of(0, {});

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(counts, CanonicalizationCounts{});
  EXPECT_EQ(matrix.rows(), 0);
}

TEST(Canonicalize, RowsThatShrinkDoNotChangeLaterRows) {
  CsrMatrix matrix = matrix_of(
      10, {{{3, 1.0}, {3, 1.0}, {4, 0.0}}, {{9, 1.0}, {2, 2.0}, {9, 1.0}}, {{0, 5.0}, {1, 6.0}}});

  canonical(matrix);

  EXPECT_EQ(entries_of(matrix),
            (std::vector<Entries>{{{3, 2.0}}, {{2, 2.0}, {9, 2.0}}, {{0, 5.0}, {1, 6.0}}}));
  EXPECT_EQ(matrix.values.size(), 5U);
}

TEST(Canonicalize, ItsResultIsCanonical) {
  CsrMatrix matrix = matrix_of(10, {{{7, 1.0}, {1, 2.0}, {7, 3.0}}, {{3, 0.0}}});
  canonical(matrix);
  const auto once = entries_of(matrix);

  const CanonicalizationCounts counts = canonical(matrix);

  EXPECT_EQ(entries_of(matrix), once);
  EXPECT_EQ(counts, (CanonicalizationCounts{.zero_rows = 1}));
}

TEST(Canonicalize, ASumOfDuplicatesBeyondFloat64IsAnErrorWithTheRow) {
  CsrMatrix matrix = matrix_of(10, {{}, {{3, 1e308}, {3, 1e308}}});

  const std::string error =
      error_of([&] { canonicalize(matrix, Irregular::kAccept, "x.csr", 1000); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"), HasSubstr("row 1001"),
                           HasSubstr("column 3")));
}

TEST(Canonicalize, StrictModeReportsTheEntryOfAnUnsortedRow) {
  const std::string error = refusal_of({{{0, 1.0}}, {{4, 1.0}, {7, 1.0}, {1, 2.0}}});

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"), HasSubstr("row 1001, entry 2"),
                           HasSubstr("smaller than the one before")));
}

TEST(Canonicalize, StrictModeReportsTheEntryOfADuplicate) {
  const std::string error = refusal_of({{{2, 1.0}, {3, 1.0}, {3, 2.0}}});

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("row 1000, entry 2"), HasSubstr("twice")));
}

TEST(Canonicalize, StrictModeReportsTheEntryOfAnExplicitZero) {
  const std::string error = refusal_of({{{2, 1.0}, {3, 0.0}}});

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("row 1000, entry 1"), HasSubstr("zero")));
}

TEST(Canonicalize, StrictModeAcceptsRegularRows) {
  const std::string error = refusal_of({{{2, 1.0}, {3, 1.0}}, {{0, -1.0}}});

  EXPECT_EQ(error, "nothing");
}

TEST(CanonicalizationCounts, AddUpFieldByField) {
  CanonicalizationCounts counts{1, 2, 3, 4};

  counts += CanonicalizationCounts{10, 20, 30, 40};

  EXPECT_EQ(counts, (CanonicalizationCounts{11, 22, 33, 44}));
}

}  // namespace
}  // namespace bulksim
