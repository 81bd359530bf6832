#include "formats/spmat/spmat.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bulksim/formats/matrix_source.hpp"
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

template <class T>
void append(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw{};
  std::memcpy(raw.data(), &value, sizeof value);
  bytes.append(raw.data(), raw.size());
}

/// A file that may be invalid: every number can be set.
struct Raw {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int32_t> col_indices;
  std::vector<float> values;

  std::string bytes() const {
    std::string out;
    for (const std::int64_t number : {rows, columns, nnz})
      append(out, number);
    for (const std::int64_t offset : row_offsets)
      append(out, offset);
    for (const std::int32_t column : col_indices)
      append(out, column);
    for (const float value : values)
      append(out, value);
    return out;
  }
};

/// Three rows: {1: 0.5, 4: -2}, nothing, {0: 3}.
Raw good_file() {
  return {3, 5, 3, {0, 2, 2, 3}, {1, 4, 0}, {0.5f, -2.0f, 3.0f}};
}

class SpmatTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes, const std::string& name = "x.csr") const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  std::string error_of_opening(const std::string& bytes) const {
    return error_of([&] { open_matrix(calls_, write(bytes)); });
  }

  std::string error_of_reading(const Raw& raw) const {
    const auto source = open_matrix(calls_, write(raw.bytes()));
    CsrMatrix rows;
    return error_of([&] { source->read({0, raw.rows}, rows); });
  }

  test::TemporaryFolder folder_;
  FileCalls& calls_ = system_file_calls();
};

TEST_F(SpmatTest, ReadsTheFile) {
  const auto source = open_matrix(calls_, write(good_file().bytes()));
  CsrMatrix rows;

  source->read({0, 3}, rows);

  EXPECT_EQ(source->info().format, "spmat");
  EXPECT_EQ(source->info().rows, 3);
  EXPECT_EQ(source->info().columns, 5);
  EXPECT_EQ(source->info().nnz, 3);
  EXPECT_EQ(rows.columns, 5);
  EXPECT_EQ(entries_of(rows), (std::vector<Entries>{{{1, 0.5}, {4, -2.0}}, {}, {{0, 3.0}}}));
}

TEST_F(SpmatTest, EveryRangeOfRowsEqualsThatPartOfTheFile) {
  const auto source = open_matrix(calls_, write(good_file().bytes()));
  CsrMatrix rows;
  source->read({0, 3}, rows);
  const auto whole = entries_of(rows);

  for (std::int64_t begin = 0; begin <= 3; ++begin) {
    for (std::int64_t end = begin; end <= 3; ++end) {
      source->read({begin, end}, rows);

      EXPECT_EQ(entries_of(rows), std::vector<Entries>(whole.begin() + begin, whole.begin() + end))
          << begin << ".." << end;
      EXPECT_EQ(rows.row_offsets.front(), 0);
    }
  }
}

TEST_F(SpmatTest, OrderDuplicatesAndZerosStayAsTheyAreStored) {
  const Raw raw{1, 9, 4, {0, 4}, {7, 1, 7, 3}, {1.0f, 2.0f, 3.0f, -0.0f}};
  const auto source = open_matrix(calls_, write(raw.bytes()));
  CsrMatrix rows;

  source->read({0, 1}, rows);

  EXPECT_EQ(entries_of(rows), (std::vector<Entries>{{{7, 1.0}, {1, 2.0}, {7, 3.0}, {3, -0.0}}}));
}

TEST_F(SpmatTest, ReadingAgainUsesTheSameMemory) {
  const auto source = open_matrix(calls_, write(good_file().bytes()));
  CsrMatrix rows;
  source->read({0, 3}, rows);
  const double* values = rows.values.data();
  const Column* columns = rows.col_indices.data();

  source->read({0, 2}, rows);

  EXPECT_EQ(rows.values.data(), values);
  EXPECT_EQ(rows.col_indices.data(), columns);
}

TEST_F(SpmatTest, ManyThreadsReadAtOnce) {
  Raw raw{1000, 1000, 1000, {0}, {}, {}};
  for (std::int32_t row = 0; row < 1000; ++row) {
    raw.row_offsets.push_back(row + 1);
    raw.col_indices.push_back(row);
    raw.values.push_back(static_cast<float>(row) + 1.0f);
  }
  const auto source = open_matrix(calls_, write(raw.bytes()));
  std::array<int, 4> wrong{};

  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        CsrMatrix rows;
        for (std::int64_t row = static_cast<std::int64_t>(thread); row < 1000; ++row) {
          source->read({row, row + 1}, rows);
          wrong[thread] += rows.values[0] != static_cast<double>(row) + 1.0;
        }
      });
    }
  }

  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST_F(SpmatTest, RowsWithoutEntriesAreAcceptedAnywhere) {
  const Raw raw{4, 5, 2, {0, 0, 2, 2, 2}, {1, 4}, {0.5f, -2.0f}};
  const auto source = open_matrix(calls_, write(raw.bytes()));
  CsrMatrix rows;

  source->read({0, 4}, rows);

  EXPECT_EQ(entries_of(rows), (std::vector<Entries>{{}, {{1, 0.5}, {4, -2.0}}, {}, {}}));
}

TEST_F(SpmatTest, AFileWithoutEntriesAndOneWithoutRowsAreAccepted) {
  const auto no_entries = open_matrix(calls_, write(Raw{2, 5, 0, {0, 0, 0}, {}, {}}.bytes()));
  const auto no_rows = open_matrix(calls_, write(Raw{0, 0, 0, {0}, {}, {}}.bytes(), "y.csr"));
  CsrMatrix rows;
  CsrMatrix nothing;

  no_entries->read({0, 2}, rows);
  no_rows->read({0, 0}, nothing);

  EXPECT_EQ(entries_of(rows), (std::vector<Entries>{{}, {}}));
  EXPECT_EQ(nothing.rows(), 0);
}

class WrongSize : public SpmatTest, public testing::WithParamInterface<int> {};

TEST_P(WrongSize, AFileThatDoesNotMatchItsHeaderIsRefused) {
  std::string bytes = good_file().bytes();
  const std::size_t expected = bytes.size();
  bytes.resize(expected + static_cast<std::size_t>(GetParam()), '\0');

  const std::string error = error_of_opening(bytes);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"),
                           HasSubstr("takes " + std::to_string(expected) + " bytes"),
                           HasSubstr("the file has " + std::to_string(bytes.size()))));
}

INSTANTIATE_TEST_SUITE_P(Bytes, WrongSize, testing::Values(-8, -1, 1, 8));

class WildHeader : public SpmatTest, public testing::WithParamInterface<std::int64_t> {};

TEST_P(WildHeader, SizesNearTheLimitsOf64BitsAreRefusedBeforeAllocation) {
  Raw wild_rows = good_file();
  Raw wild_entries = good_file();
  Raw wild_both = good_file();
  wild_rows.rows = GetParam();
  wild_entries.nnz = GetParam();
  wild_both.rows = wild_both.nnz = GetParam();

  for (const Raw& raw : {wild_rows, wild_entries, wild_both}) {
    const std::string error = error_of_opening(raw.bytes());

    EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"),
                             HasSubstr(std::to_string(GetParam()))));
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, WildHeader,
                         testing::Values(std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::max() - 7,
                                         std::numeric_limits<std::int64_t>::min(), -1,
                                         -3,  // -1 is 2^64 - 1
                                         std::int64_t{1} << 60, std::int64_t{1} << 61,
                                         (std::int64_t{1} << 60) - 4));

TEST_F(SpmatTest, ANumberOfColumnsBeyond32BitsIsRefusedWithTheLimit) {
  Raw raw = good_file();
  raw.columns = (std::int64_t{1} << 31) + 1;

  const std::string error = error_of_opening(raw.bytes());

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("2147483649"), HasSubstr("2147483648")));
}

TEST_F(SpmatTest, TwoBillionEntriesInASparseFileAreReadByRanges) {
  const std::int64_t rows = 1 << 10;
  const std::int64_t per_row = 1 << 21;
  Raw raw{rows, 100, rows * per_row, {}, {}, {}};
  for (std::int64_t row = 0; row <= rows; ++row)
    raw.row_offsets.push_back(row * per_row);
  const std::string path = write(raw.bytes());
  ASSERT_EQ(truncate(path.c_str(), 24 + 8 * (rows + 1) + 8 * rows * per_row), 0);
  std::fstream last(path, std::ios::binary | std::ios::in | std::ios::out);
  last.seekp(-4, std::ios::end);
  const float value = 7.5f;
  last.write(reinterpret_cast<const char*>(&value), sizeof value);
  last.close();
  const auto source = open_matrix(calls_, path);
  CsrMatrix out;

  source->read({rows - 1, rows}, out);

  EXPECT_EQ(source->info().nnz, std::int64_t{1} << 31);
  EXPECT_EQ(out.nnz(), per_row);
  EXPECT_EQ(out.values.back(), 7.5);
  EXPECT_EQ(out.values.front(), 0.0);
  EXPECT_EQ(out.values.capacity(), static_cast<std::size_t>(per_row));
}

TEST_F(SpmatTest, OffsetsThatDoNotBeginWithZeroAreRefused) {
  Raw raw = good_file();
  raw.row_offsets.front() = 1;

  const std::string error = error_of_opening(raw.bytes());

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("begin with 1")));
}

TEST_F(SpmatTest, OffsetsThatDoNotEndWithTheNumberOfEntriesAreRefused) {
  Raw raw = good_file();
  raw.row_offsets.back() = 2;

  const std::string error = error_of_opening(raw.bytes());

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("end with 2"), HasSubstr("3")));
}

TEST_F(SpmatTest, OffsetsThatDecreaseAreRefusedWithTheRow) {
  Raw raw = good_file();
  raw.row_offsets = {0, 2, 1, 3};

  const std::string error = error_of_reading(raw);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("row_offsets not monotone at row 1")));
}

TEST_F(SpmatTest, OffsetsThatWrappedIn32BitsAreRefusedWithTheRow) {
  Raw raw = good_file();
  raw.row_offsets = {0, 2147483647, -2147483640, 3};

  const std::string error = error_of_reading(raw);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("row_offsets not monotone at row 0")));
}

TEST_F(SpmatTest, OffsetsAreCheckedInARangeThatBeginsInTheMiddle) {
  Raw raw = good_file();
  raw.row_offsets = {0, -5, 3, 3};
  const auto source = open_matrix(calls_, write(raw.bytes()));
  CsrMatrix rows;

  const std::string error = error_of([&] { source->read({1, 2}, rows); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("row_offsets not monotone at row 0")));
}

class WrongColumn : public SpmatTest, public testing::WithParamInterface<std::int32_t> {};

TEST_P(WrongColumn, AColumnOutsideTheMatrixIsRefusedWithRowAndEntry) {
  Raw raw = good_file();
  raw.col_indices[1] = GetParam();

  const std::string error = error_of_reading(raw);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"), HasSubstr("row 0, entry 1"),
                           HasSubstr("column " + std::to_string(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(Columns, WrongColumn,
                         testing::Values(5, -1, std::numeric_limits<std::int32_t>::max(),
                                         std::numeric_limits<std::int32_t>::min()));

TEST_F(SpmatTest, RowsAndEntriesAreCountedFromTheStartOfTheFile) {
  Raw raw = good_file();
  raw.col_indices[2] = 5;
  const auto source = open_matrix(calls_, write(raw.bytes()));
  CsrMatrix rows;

  const std::string error = error_of([&] { source->read({1, 3}, rows); });

  EXPECT_THAT(error, HasSubstr("row 2, entry 0"));
}

class NotFinite : public SpmatTest, public testing::WithParamInterface<float> {};

TEST_P(NotFinite, AValueThatIsNotFiniteIsRefusedWithRowAndEntry) {
  Raw raw = good_file();
  raw.values[1] = GetParam();

  const std::string error = error_of_reading(raw);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("x.csr"), HasSubstr("row 0, entry 1")));
}

INSTANTIATE_TEST_SUITE_P(Values, NotFinite,
                         testing::Values(std::numeric_limits<float>::quiet_NaN(),
                                         std::numeric_limits<float>::infinity(),
                                         -std::numeric_limits<float>::infinity()));

TEST_F(SpmatTest, ACompressedFileIsRecognized) {
  std::string bytes = good_file().bytes();
  bytes.replace(0, 4, "\x1f\x8b\x08\x08");

  const std::string error = error_of_opening(bytes);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("gzip")));
}

TEST_F(SpmatTest, AByteSwappedFileIsRecognized) {
  std::string bytes = good_file().bytes();
  for (std::size_t at = 0; at < 24; at += 8) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at) + 8);
  }

  const std::string error = error_of_opening(bytes);

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("byte-swapped")));
}

TEST_F(SpmatTest, AnEmptyFileAndOneShorterThanAHeaderAreRefused) {
  for (const std::string& bytes : {std::string(), std::string(23, '\0')}) {
    const std::string error = error_of_opening(bytes);

    EXPECT_THAT(error,
                AllOf(StartsWith("65: "), HasSubstr(std::to_string(bytes.size()) + " bytes")));
  }
}

TEST_F(SpmatTest, AMissingFileIsNoInput) {
  for (const std::string name : {"missing.csr", "missing.txt"}) {
    const std::string error = error_of([&] { open_matrix(calls_, folder_ / name); });

    EXPECT_THAT(error, AllOf(StartsWith("66: "), HasSubstr(name)));
  }
}

TEST_F(SpmatTest, AFolderIsRefused) {
  const std::string error = error_of([&] { open_matrix(calls_, folder_.path()); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("is a folder")));
}

TEST_F(SpmatTest, AnUnknownSuffixIsRefusedWithTheKnownFormats) {
  const std::string path = write("1 2 3", "matrix.mtx");

  const std::string error = error_of([&] { open_matrix(calls_, path); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("matrix.mtx"), HasSubstr(".csr")));
}

TEST_F(SpmatTest, TheWriterWritesTheBytesOfTheFormat) {
  const CsrMatrix rows = matrix_of(5, {{{1, 0.5}, {4, -2.0}}, {}, {{0, 3.0}}});
  SpmatWriter writer(calls_, folder_ / "out.csr", 5, rows.row_offsets);

  writer.append(rows.view());
  writer.finish();

  EXPECT_EQ(read_text(calls_, folder_ / "out.csr"), good_file().bytes());
}

TEST_F(SpmatTest, RowsAppendedInPiecesMakeTheSameFile) {
  const CsrMatrix rows = matrix_of(5, {{{1, 0.5}, {4, -2.0}}, {}, {{0, 3.0}}});
  SpmatWriter writer(calls_, folder_ / "out.csr", 5, rows.row_offsets);

  for (std::int64_t row = 0; row < 3; ++row)
    writer.append(rows.view().slice({row, row + 1}));
  writer.finish();

  EXPECT_EQ(read_text(calls_, folder_ / "out.csr"), good_file().bytes());
}

TEST_F(SpmatTest, AFileThatWasNotFinishedLeavesNothing) {
  const CsrMatrix rows = matrix_of(5, {{{1, 0.5}}, {{0, 3.0}}});

  {
    SpmatWriter writer(calls_, folder_ / "out.csr", 5, rows.row_offsets);
    writer.append(rows.view().slice({0, 1}));
  }

  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SpmatTest, AnOldFileStaysUntilTheNewOneIsComplete) {
  write("old", "out.csr");
  const CsrMatrix rows = matrix_of(5, {{{1, 0.5}}});
  SpmatWriter writer(calls_, folder_ / "out.csr", 5, rows.row_offsets);

  writer.append(rows.view());
  const std::string before = read_text(calls_, folder_ / "out.csr");
  writer.finish();

  EXPECT_EQ(before, "old");
  EXPECT_EQ(open_matrix(calls_, folder_ / "out.csr")->info().nnz, 1);
}

TEST_F(SpmatTest, TheWriterRefusesAValueBeyondFloat32) {
  const CsrMatrix rows = matrix_of(5, {{{1, 1e200}}});
  SpmatWriter writer(calls_, folder_ / "out.csr", 5, rows.row_offsets);

  const std::string error = error_of([&] { writer.append(rows.view()); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("float32")));
}

}  // namespace
}  // namespace bulksim
