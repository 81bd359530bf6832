#include "bulksim/sparse/quantized_rows.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::matrix_of;
using test::quantized_rows;

TEST(QuantizedRows, AreIntegersWithTheInverseOfTheirLength) {
  const QuantizedRows rows = quantized_rows(matrix_of(9, {{{1, 0.75}, {8, -1.0}}, {{2, 1e-30}}}));

  EXPECT_EQ(rows.columns, 9);
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows.nnz(), 3);
  EXPECT_EQ(rows.col_indices, (std::vector<Column>{1, 8, 2}));
  EXPECT_EQ(rows.values, (std::vector<std::int32_t>{3, -4, 1 << 26}));  // 1e-30 has 53 bits
  EXPECT_EQ(rows.scales, (std::vector<double>{1.0 / 5.0, 0x1p-26}));
}

TEST(QuantizedRows, AnEmptyRowStaysARow) {
  const QuantizedRows rows = quantized_rows(matrix_of(9, {{}, {{4, 2.0}}, {}}));

  EXPECT_EQ(rows.row_offsets, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_TRUE(rows.columns_of(0).empty());
  EXPECT_EQ(rows.values_of(1).front(), 1);
  EXPECT_EQ(rows.scales, (std::vector<double>{0.0, 1.0, 0.0}));
}

TEST(QuantizedRows, EntriesThatRoundToZeroAreDropped) {
  const QuantizedRows rows = quantized_rows(matrix_of(9, {{{0, 1.0}, {5, 0x1p-28}, {7, 0x1p-26}}}));

  EXPECT_EQ(rows.col_indices, (std::vector<Column>{0, 7}));
  EXPECT_EQ(rows.values, (std::vector<std::int32_t>{1 << 26, 1}));
}

TEST(QuantizedRows, AppendingInPiecesGivesTheSameRows) {
  const CsrMatrix matrix = test::random_rows(50, 100, 8, 1);
  const QuantizedRows whole = quantized_rows(matrix);

  QuantizedRows pieces;
  for (std::int64_t row = 0; row < 50; row += 7) {
    append_quantized_rows(matrix.view().slice({row, std::min<std::int64_t>(row + 7, 50)}), kQ26,
                          pieces);
  }

  EXPECT_EQ(pieces.row_offsets, whole.row_offsets);
  EXPECT_EQ(pieces.col_indices, whole.col_indices);
  EXPECT_EQ(pieces.values, whole.values);
  EXPECT_EQ(pieces.scales, whole.scales);
}

TEST(QuantizedRows, ClearKeepsTheMemory) {
  QuantizedRows rows = quantized_rows(matrix_of(9, {{{1, 3.0}, {8, -4.0}}}));
  const std::int32_t* memory = rows.values.data();

  rows.clear();
  append_quantized_rows(matrix_of(9, {{{1, 1.0}}}).view(), kQ26, rows);

  EXPECT_EQ(rows.rows(), 1);
  EXPECT_EQ(rows.values.data(), memory);
}

TEST(QuantizedRows, BytesCountOffsetsColumnsValuesAndScales) {
  const QuantizedRows rows = quantized_rows(matrix_of(9, {{{1, 3.0}, {8, -4.0}}, {}}));

  EXPECT_EQ(rows.bytes(), 3 * 8 + 2 * 4 + 2 * 4 + 2 * 8);
}

TEST(QuantizedRows, TheScaleIsThatOfTheSummedDuplicates) {
  CsrMatrix summed = matrix_of(9, {{{3, 1.0}, {3, 2.0}, {5, 4.0}}});
  canonicalize(summed, Irregular::kAccept, "x", 0);

  const QuantizedRows rows = quantized_rows(summed);

  EXPECT_EQ(rows.values, (std::vector<std::int32_t>{3, 4}));
  EXPECT_EQ(rows.scales, (std::vector<double>{0.2}));
}

}  // namespace
}  // namespace bulksim
