#include "sparse/block_sparse.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "bulksim/core/types.hpp"
#include "core/crc.hpp"
#include "core/half.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::matrix_of;
using test::random_rows;

std::vector<std::byte> encoded(const CsrMatrix& rows) {
  std::vector<std::byte> row_block;
  encode_row_block(rows.view(), row_block);
  return row_block;
}

void expect_round_trip(const CsrMatrix& rows) {
  CsrMatrix decoded;
  decoded.columns = rows.columns;

  const std::string fault = decode_row_block(encoded(rows), decoded);

  EXPECT_EQ(fault, "");
  EXPECT_EQ(decoded.row_offsets, rows.row_offsets);
  EXPECT_EQ(decoded.col_indices, rows.col_indices);
  EXPECT_EQ(decoded.values, rows.values);
}

/// What is wrong with a row block of `columns` columns; empty if nothing.
std::string fault_of(std::span<const std::byte> row_block, std::int64_t columns = 1 << 20) {
  CsrMatrix decoded;
  decoded.columns = columns;
  return decode_row_block(row_block, decoded);
}

std::vector<std::byte> with_good_checksum(std::vector<std::byte> row_block) {
  const std::uint32_t crc = crc32c(std::span(row_block).subspan(4));
  std::memcpy(row_block.data(), &crc, sizeof crc);
  return row_block;
}

double bytes_per_nonzero(const CsrMatrix& rows) {
  return static_cast<double>(encoded(rows).size()) / static_cast<double>(rows.nnz());
}

CsrMatrix with_values(CsrMatrix rows, double (*value)(double)) {
  std::transform(rows.values.begin(), rows.values.end(), rows.values.begin(), value);
  return rows;
}

TEST(BlockSparse, RoundTripsRandomRowsOfManyShapes) {
  for (const std::int64_t rows : {1, 2, 1023, 1024}) {
    for (const std::int64_t columns : {1, 1000, 1024, 65536, 65537, 1'000'000}) {
      for (const std::int64_t mean : {0, 1, 16, 120}) {
        expect_round_trip(
            random_rows(rows, columns, mean, static_cast<std::uint64_t>(rows + mean)));
      }
    }
  }
}

TEST(BlockSparse, RoundTripsEmptyRows) {
  expect_round_trip(matrix_of(10, {}));
  expect_round_trip(matrix_of(10, {{}}));
  expect_round_trip(matrix_of(10, {{}, {{3, 1.0}}, {}}));
}

TEST(BlockSparse, KeepsColumnsAndBlocksOfThirtyTwoBits) {
  const Column last = std::numeric_limits<Column>::max();
  expect_round_trip(matrix_of(
      std::int64_t{1} << 32,
      {{{0, 1.0}, {1u << 26, 2.0}, {1u << 31, 3.0}, {last, 4.0}}, {{last - 1, 5.0}, {last, 6.0}}}));
}

TEST(BlockSparse, KeepsEveryFloat64Exactly) {
  const double least = std::numeric_limits<double>::denorm_min();
  expect_round_trip(
      matrix_of(100'000, {{{0, 0.1}, {5, -1e300}, {70'000, least}, {99'999, 1e-300}}}));
}

TEST(BlockSparse, RoundTripsEveryFloat16AsFloat32) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (is_special_half(half)) continue;

    const float value = from_half(half);

    ASSERT_TRUE(fits_half(value)) << bits;
    ASSERT_EQ(round_to_half(value), half);
  }
}

TEST(BlockSparse, ValuesBetweenTwoFloat16AreNotStoredAsFloat16) {
  for (const float value :
       {0.1f, 65519.0f, 65536.0f, 2049.0f, 0x1p-25f, 0x1.8p-24f, 0x1.002p-14f}) {
    EXPECT_FALSE(fits_half(value)) << value;
  }
}

TEST(BlockSparse, StoresTheNarrowestLosslessValues) {
  const CsrMatrix rows = random_rows(1024, 50'000, 30, 1);

  EXPECT_LT(bytes_per_nonzero(with_values(rows, [](double v) { return std::ceil(v * 100); })), 4.1);
  EXPECT_LT(bytes_per_nonzero(rows), 6.1);
  EXPECT_LT(bytes_per_nonzero(with_values(rows, [](double v) { return v / 3; })), 10.1);
}

TEST(BlockSparse, UsesAtMost6_7BytesForFloat32InAMillionColumns) {
  EXPECT_LT(bytes_per_nonzero(random_rows(1024, 1'000'000, 16, 2)), 6.7);
}

TEST(BlockSparse, RowBlocksOfASliceAreThoseOfTheWhole) {
  const CsrMatrix rows = random_rows(100, 5000, 20, 3);
  std::vector<std::byte> row_block;
  encode_row_block(rows.view().slice({40, 60}), row_block);
  CsrMatrix decoded;
  decoded.columns = rows.columns;

  const std::string fault = decode_row_block(row_block, decoded);

  EXPECT_EQ(fault, "");
  for (std::int64_t row = 0; row < 20; ++row) {
    EXPECT_TRUE(
        std::ranges::equal(decoded.view().columns_of(row), rows.view().columns_of(40 + row)));
    EXPECT_TRUE(std::ranges::equal(decoded.view().values_of(row), rows.view().values_of(40 + row)));
  }
}

TEST(BlockSparse, AppendsToExistingRows) {
  const CsrMatrix rows = random_rows(10, 5000, 20, 4);
  CsrMatrix decoded;
  decoded.columns = rows.columns;

  const std::string first = decode_row_block(encoded(rows), decoded);
  const std::string second = decode_row_block(encoded(rows), decoded);

  EXPECT_EQ(first + second, "");
  EXPECT_EQ(decoded.rows(), 20);
  EXPECT_EQ(decoded.nnz(), 2 * rows.nnz());
  EXPECT_TRUE(std::ranges::equal(decoded.view().columns_of(13), rows.view().columns_of(3)));
}

TEST(BlockSparse, EveryFlippedBitIsDetected) {
  const std::vector<std::byte> row_block = encoded(random_rows(20, 100'000, 8, 5));

  for (std::size_t at = 0; at < row_block.size(); ++at) {
    std::vector<std::byte> damaged = row_block;
    damaged[at] ^= std::byte{0x10};
    ASSERT_NE(fault_of(damaged), "") << "byte " << at;
  }
}

TEST(BlockSparse, EveryTruncatedRowBlockIsDetected) {
  const std::vector<std::byte> row_block = encoded(random_rows(20, 100'000, 8, 6));

  for (std::size_t size = 0; size < row_block.size(); ++size) {
    ASSERT_NE(fault_of(std::span(row_block).first(size)), "") << size << " bytes";
  }
}

TEST(BlockSparse, ReportsWhatIsWrong) {
  const CsrMatrix rows = matrix_of(100'000, {{{1, 1.5}, {90'000, 2.5}}});
  std::vector<std::byte> nan = encoded(with_values(rows, [](double) { return double{NAN}; }));

  EXPECT_EQ(fault_of({}), "it is truncated");
  EXPECT_EQ(fault_of(encoded(rows), 90'000), "its columns are damaged");
  EXPECT_EQ(fault_of(nan), "its values are not finite");
  std::vector<std::byte> sizes = encoded(rows);
  sizes[8] = std::byte{200};
  EXPECT_EQ(fault_of(with_good_checksum(sizes)), "its sizes do not add up");
}

TEST(BlockSparse, ColumnsThatDoNotAscendAreDetected) {
  const CsrMatrix descending = matrix_of(100'000, {{{90'000, 1.0}, {90'000, 2.0}}});
  const CsrMatrix narrow = matrix_of(100, {{{9, 1.0}, {3, 2.0}}});

  EXPECT_EQ(fault_of(encoded(descending)), "its columns are damaged");
  EXPECT_EQ(fault_of(encoded(narrow)), "its columns are damaged");
}

/// Decodes bytes without a checksum: any bytes decode to valid rows or are refused.
TEST(BlockSparse, AnyBytesAreSafeToDecodeWithoutTheChecksum) {
  test::Random random(7);
  std::int64_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t columns = round % 2 == 0 ? 300'000 : 3000;
    std::vector<std::byte> row_block = encoded(random_rows(1 + random.below(30), columns, 6, 8));
    for (std::int64_t change = random.below(4); change >= 0; --change) {
      row_block[static_cast<std::size_t>(random.below(
          static_cast<std::int64_t>(row_block.size())))] = static_cast<std::byte>(random.next());
    }
    if (round % 3 == 0) row_block.resize(static_cast<std::size_t>(random.below(200)));
    CsrMatrix decoded;
    decoded.columns = columns;

    const std::string fault = decode_unchecked(row_block, decoded);

    refused += !fault.empty();
    if (!fault.empty()) continue;
    for (std::int64_t row = 0; row < decoded.rows(); ++row) {
      const auto of_row = decoded.view().columns_of(row);
      ASSERT_TRUE(std::is_sorted(of_row.begin(), of_row.end()));
      ASSERT_TRUE(of_row.empty() || of_row.back() < columns);
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(Crc, MatchesTheStandards) {
  const std::string digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));

  EXPECT_EQ(crc32c(bytes), 0xE3069283u);
  EXPECT_EQ(crc32(bytes), 0xCBF43926u);
  EXPECT_EQ(crc32c(bytes.subspan(4), crc32c(bytes.first(4))), 0xE3069283u);
  EXPECT_EQ(crc32(bytes.subspan(4), crc32(bytes.first(4))), 0xCBF43926u);
}

}  // namespace
}  // namespace bulksim
