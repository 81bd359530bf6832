#include "formats/npz/npz.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bulksim/core/types.hpp"
#include "formats/npz/npy.hpp"
#include "formats/shared/entry_stream.hpp"
#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::element;
using test::Entries;
using test::entries_of;
using test::error_of;
using test::matrix_of;
using test::npy;
using test::npy_of;
using test::npz_of;
using test::NpzOptions;
using test::random_rows;
using test::shape_npy;
using test::ZipWriter;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Small whole numbers from 0, exact in every type; unsorted and with duplicates, as in the file.
CsrMatrix small_matrix() {
  return matrix_of(9, {{{3, 1.0}, {8, 2.0}}, {}, {{7, 1.0}, {1, 0.0}, {7, 1.0}}, {{0, 1.0}}});
}

/// Members of a valid csr archive, to be damaged one at a time.
std::vector<std::pair<std::string, std::string>> members_of(const CsrMatrix& matrix) {
  return {{"indices.npy", npy_of("<i4", matrix.col_indices)},
          {"indptr.npy", npy_of("<i4", matrix.row_offsets)},
          {"format.npy", npy("|S3", "", "csr")},
          {"shape.npy", shape_npy(matrix)},
          {"data.npy", npy_of("<f4", matrix.values)}};
}

class NpzTest : public testing::Test {
 protected:
  CsrMatrix read(const std::string& bytes) {
    test::write_file(path_, bytes);
    const auto stream = open_npz(calls_, path_);
    CsrMatrix all;
    CsrMatrix rows;
    while (stream->next(rows)) {
      for (std::int64_t row = 0; row < rows.rows(); ++row) {
        all.row_offsets.push_back(all.nnz() + rows.row_offsets[static_cast<std::size_t>(row) + 1] -
                                  rows.row_offsets[static_cast<std::size_t>(row)]);
      }
      all.col_indices.insert(all.col_indices.end(), rows.col_indices.begin(),
                             rows.col_indices.end());
      all.values.insert(all.values.end(), rows.values.begin(), rows.values.end());
    }
    all.columns = stream->info().columns;
    EXPECT_EQ(stream->info().rows, all.rows());
    EXPECT_EQ(stream->info().nnz, all.nnz());
    return all;
  }

  std::string error_of_reading(const std::string& bytes) {
    return error_of([&] { read(bytes); });
  }

  /// Replaces, adds or (with empty content) removes one member of a valid archive.
  std::string spoiled(const std::string& name, const std::string& content) {
    ZipWriter zip;
    bool replaced = false;
    for (const auto& [member, good] : members_of(small_matrix())) {
      replaced |= member == name;
      if (member != name) zip.add(member, good);
      if (member == name && !content.empty()) zip.add(member, content);
    }
    if (!replaced) zip.add(name, content);
    return zip.finish();
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "matrix.npz";
};

TEST_F(NpzTest, ReadsRowsAsTheyAreStored) {
  const CsrMatrix read_back = read(npz_of(small_matrix()));

  EXPECT_EQ(entries_of(read_back), entries_of(small_matrix()));
  EXPECT_EQ(read_back.columns, 9);
}

TEST_F(NpzTest, ReadsLongMatricesInRowBlocks) {
  const CsrMatrix matrix = random_rows(5000, 3000, 8, 1);
  for (const int method : {0, 8}) {
    NpzOptions options;
    options.zip.method = method;
    test::write_file(path_, npz_of(matrix, options));
    const auto stream = open_npz(calls_, path_);
    CsrMatrix rows;

    stream->next(rows);

    EXPECT_EQ(rows.rows(), kRowBlockRows);
    EXPECT_EQ(entries_of(read(npz_of(matrix, options))), entries_of(matrix));
  }
}

TEST_F(NpzTest, ReadsEveryTypeOfValuesInBothByteOrders) {
  for (const std::string type :
       {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}) {
    for (const std::string order : {"<", ">"}) {
      EXPECT_EQ(entries_of(read(npz_of(small_matrix(), {.values = order + type}))),
                entries_of(small_matrix()))
          << order << type;
    }
  }
}

TEST_F(NpzTest, BooleansAreOneOrZero) {
  const CsrMatrix matrix = matrix_of(5, {{{1, 1.0}, {2, 0.0}}, {{4, 1.0}}});

  EXPECT_EQ(entries_of(read(npz_of(matrix, {.values = "|b1"}))), entries_of(matrix));
}

TEST_F(NpzTest, Float64ValuesAreNotRounded) {
  const CsrMatrix matrix = matrix_of(5, {{{1, 0.1}, {2, -1e-300}}, {{4, 1.0 / 3}}});

  EXPECT_EQ(entries_of(read(npz_of(matrix, {.values = ">f8"}))), entries_of(matrix));
}

TEST_F(NpzTest, NegativeIntegersKeepTheirSign) {
  const CsrMatrix matrix = matrix_of(5, {{{1, -5.0}, {2, 100.0}}});

  for (const std::string type : {"|i1", ">i2", "<i4", ">i8"}) {
    EXPECT_EQ(entries_of(read(npz_of(matrix, {.values = type}))), entries_of(matrix)) << type;
  }
}

TEST_F(NpzTest, IndicesAndOffsetsHaveTypesOfTheirOwn) {
  for (const std::string indices : {"<i4", "<i8", ">i4", "<u2"}) {
    for (const std::string offsets : {"<i4", "<i8", ">i8"}) {
      const NpzOptions options{.indices = indices, .offsets = offsets};

      EXPECT_EQ(entries_of(read(npz_of(small_matrix(), options))), entries_of(small_matrix()))
          << indices << offsets;
    }
  }
}

TEST_F(NpzTest, ReadsHeadersOfAllVersionsAndZip64) {
  for (const int version : {1, 2, 3}) {
    for (const bool zip64 : {false, true}) {
      for (const int method : {0, 8}) {
        const NpzOptions options{.version = version,
                                 .zip = {method, zip64, /*local_sizes=*/!zip64}};

        EXPECT_EQ(entries_of(read(npz_of(small_matrix(), options))), entries_of(small_matrix()));
      }
    }
  }
}

TEST_F(NpzTest, TheFormatMayBeBytesOrText) {
  const std::string wide("c\0\0\0s\0\0\0r\0\0\0", 12);
  const std::string big("\0\0\0c\0\0\0s\0\0\0r", 12);

  EXPECT_EQ(entries_of(read(spoiled("format.npy", npy("<U3", "", wide)))),
            entries_of(small_matrix()));
  EXPECT_EQ(entries_of(read(spoiled("format.npy", npy(">U3", "", big)))),
            entries_of(small_matrix()));
}

TEST_F(NpzTest, OtherMembersAndACommentAreIgnored) {
  EXPECT_EQ(entries_of(read(spoiled("_is_array.npy", npy("|b1", "", "\1")))),
            entries_of(small_matrix()));
  EXPECT_EQ(entries_of(read(spoiled("notes.txt", "anything"))), entries_of(small_matrix()));
  ZipWriter zip;
  for (const auto& [name, content] : members_of(small_matrix()))
    zip.add(name, content);
  EXPECT_EQ(entries_of(read(zip.finish("a comment"))), entries_of(small_matrix()));
}

TEST_F(NpzTest, AMatrixWithoutRowsOrNonzerosIsRead) {
  EXPECT_EQ(read(npz_of(matrix_of(5, {}))).rows(), 0);
  EXPECT_EQ(entries_of(read(npz_of(matrix_of(5, {{}, {}})))), entries_of(matrix_of(5, {{}, {}})));
}

/// The entries of a matrix, column by column.
std::string csc_of(const CsrMatrix& matrix) {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> rows;
  std::vector<double> values;
  for (std::int64_t column = 0; column < matrix.columns; ++column) {
    for (std::int64_t row = 0; row < matrix.rows(); ++row) {
      const auto columns = matrix.view().columns_of(row);
      for (std::size_t at = 0; at < columns.size(); ++at) {
        if (columns[at] != column) continue;
        rows.push_back(row);
        values.push_back(matrix.view().values_of(row)[at]);
      }
    }
    offsets.push_back(static_cast<std::int64_t>(rows.size()));
  }
  ZipWriter zip;
  zip.add("indices.npy", npy_of("<i4", rows));
  zip.add("indptr.npy", npy_of("<i4", offsets));
  zip.add("format.npy", npy("|S3", "", "csc"));
  zip.add("shape.npy", shape_npy(matrix));
  zip.add("data.npy", npy_of("<f8", values));
  return zip.finish();
}

std::string coo_of(const CsrMatrix& matrix, const std::string& coords) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    rows.insert(rows.end(), matrix.view().columns_of(row).size(), row);
  ZipWriter zip({8, false, true});
  if (coords == "coords") {
    std::string elements;
    for (const std::int64_t row : rows)
      elements += element("<i4", static_cast<double>(row));
    for (const Column column : matrix.col_indices)
      elements += element("<i4", column);
    zip.add("coords.npy", npy("<i4", "2, " + std::to_string(rows.size()), elements));
  } else {
    zip.add("row.npy", npy_of("<i4", rows));
    zip.add("col.npy", npy_of("<i8", matrix.col_indices));
  }
  zip.add("format.npy", npy("|S3", "", "coo"));
  zip.add("shape.npy", shape_npy(matrix));
  zip.add("data.npy", npy_of("<f8", matrix.values));
  return zip.finish();
}

TEST_F(NpzTest, CscAndCooAreSortedIntoRows) {
  const CsrMatrix matrix = random_rows(1500, 60, 5, 2);

  EXPECT_EQ(entries_of(read(csc_of(matrix))), entries_of(matrix));
  EXPECT_EQ(entries_of(read(coo_of(matrix, "row and col"))), entries_of(matrix));
  EXPECT_EQ(entries_of(read(coo_of(matrix, "coords"))), entries_of(matrix));
}

/// Every entry of a matrix, last row first.
class Backwards final : public EntryStream {
 public:
  explicit Backwards(const CsrMatrix& matrix) : rows_(entries_of(matrix)) {}
  bool next(EntryBlock& out) override {
    if (rows_.empty()) return false;
    out = {};
    for (const auto& [column, value] : rows_.back()) {
      out.rows.push_back(static_cast<std::int64_t>(rows_.size()) - 1);
      out.columns.push_back(column);
      out.values.push_back(value);
    }
    rows_.pop_back();
    return true;
  }

 private:
  std::vector<Entries> rows_;
};

TEST(RowsOfEntries, AreTheSameForAnyNumberInMemory) {
  const CsrMatrix matrix = random_rows(5000, 60, 5, 3);
  for (const std::int64_t most : {5500, 12'000, 1'000'000}) {
    MatrixInfo info;
    info.rows = matrix.rows();
    info.columns = matrix.columns;
    const auto stream = rows_of_entries(
        info, [&] { return std::make_unique<Backwards>(matrix); }, most);
    std::vector<Entries> all;

    for (CsrMatrix rows; stream->next(rows);) {
      for (const Entries& row : entries_of(rows))
        all.push_back(row);
    }

    EXPECT_EQ(all, entries_of(matrix)) << most;
  }
}

TEST(RowsOfEntries, ARowBlockThatDoesNotFitIsRefused) {
  const CsrMatrix matrix = matrix_of(9, {{{1, 1.0}, {2, 1.0}}, {{4, 2.0}}});
  MatrixInfo info;
  info.path = "x.npz";
  info.rows = matrix.rows();
  info.columns = matrix.columns;
  const auto stream = rows_of_entries(
      info, [&] { return std::make_unique<Backwards>(matrix); }, 2);

  CsrMatrix rows;
  EXPECT_THAT(error_of([&] { stream->next(rows); }),
              AllOf(StartsWith("71: "), HasSubstr("'x.npz', rows 0 to 1"), HasSubstr("3 entries")));
}

TEST_F(NpzTest, ARowBlockThatDoesNotFitIsRefused) {
  test::write_file(path_, npz_of(small_matrix()));
  const auto stream = open_npz(calls_, path_, {.most_entries = 5});

  CsrMatrix rows;
  EXPECT_THAT(error_of([&] { stream->next(rows); }),
              AllOf(StartsWith("71: "), HasSubstr(path_), HasSubstr("6 entries")));
}

TEST_F(NpzTest, EntriesOfVeryManyRowsTakeLittleMemory) {
  const std::int64_t row = 3 * kRowBlockRows + 5;
  ZipWriter zip;
  zip.add("row.npy", npy_of("<i8", std::vector<std::int64_t>{4'294'967'295, row}));
  zip.add("col.npy", npy_of("<i8", std::vector<std::int64_t>{9, 7}));
  zip.add("format.npy", npy("|S3", "", "coo"));
  zip.add("shape.npy", npy_of("<i8", std::vector<std::int64_t>{std::int64_t{1} << 32, 10}));
  zip.add("data.npy", npy_of("<f4", std::vector<int>{1, 2}));
  test::write_file(path_, zip.finish());
  const auto stream = open_npz(calls_, path_, {.most_entries = 2});

  CsrMatrix rows;
  for (int block = 0; block < 4; ++block)
    ASSERT_TRUE(stream->next(rows));

  EXPECT_EQ(rows.nnz(), 1);
  EXPECT_EQ(entries_of(rows)[5], (Entries{{7, 2.0}}));
}

TEST_F(NpzTest, AShapeBeyondTheLimitsIsRefused) {
  for (const auto& shape : {std::vector<std::int64_t>{1'000'000'000'000'000, 10},
                            std::vector<std::int64_t>{4, (std::int64_t{1} << 32) + 1}}) {
    EXPECT_THAT(error_of_reading(spoiled("shape.npy", npy_of("<i8", shape))),
                AllOf(StartsWith("65: "), HasSubstr("shape.npy"), HasSubstr("2^32")));
  }
}

TEST_F(NpzTest, TheLargestColumnNumberIsRead) {
  const CsrMatrix matrix =
      matrix_of(std::int64_t{1} << 32, {{{5, 1.0}, {4'294'967'295, 2.0}}, {{7, 2.0}}});

  EXPECT_EQ(entries_of(read(npz_of(matrix, {.indices = "<i8"}))), entries_of(matrix));
  EXPECT_EQ(entries_of(read(coo_of(matrix, "row and col"))), entries_of(matrix));
}

TEST_F(NpzTest, EveryMissingMemberIsReported) {
  for (const auto& [name, content] : members_of(small_matrix())) {
    EXPECT_THAT(error_of_reading(spoiled(name, "")),
                AllOf(StartsWith("65: "), HasSubstr(path_), HasSubstr(name)));
  }
}

TEST_F(NpzTest, EveryDamagedMemberIsReported) {
  const CsrMatrix matrix = random_rows(300, 100, 8, 4);
  for (const int method : {0, 8}) {
    for (const auto& [name, content] : members_of(matrix)) {
      std::string bytes = npz_of(matrix, {.zip = {method, false, true}});
      // the member's data follows its name and the extra field of its local header
      const std::size_t data = bytes.find(name) + name.size() + 4;
      const std::size_t at = data + (method == 0 ? content.size() - 1 : 20);
      bytes[at] = static_cast<char>(bytes[at] ^ 0x55);

      EXPECT_THAT(error_of_reading(bytes), AllOf(StartsWith("65: "), HasSubstr(name)))
          << name << " by method " << method;
    }
  }
}

TEST_F(NpzTest, EveryTruncatedArchiveIsRefused) {
  const std::string good = npz_of(small_matrix());
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_THAT(error_of_reading(good.substr(0, size)), StartsWith("65: ")) << size;
  }
}

TEST_F(NpzTest, RefusesEachBadArrayByItsName) {
  const struct {
    const char* member;
    std::string content;
    const char* says;
  } cases[] = {
      {"data.npy", npy("<c8", "6,", std::string(48, '\0')), "<c8"},
      {"data.npy", npy("|O", "6,", std::string(48, '\0')), "pickle"},
      {"data.npy", npy("<f4", "6,", std::string(20, '\0')), "shape"},
      {"data.npy", npy("<f4", "9999999999999, 9999999999999", ""), "shape"},
      {"indices.npy", npy_of("<i4", std::vector<int>(5)), "but there are 6 values"},
      {"data.npy", npy("<f4", "6", std::string(24, '\0')) + "x", "shape"},
      {"data.npy", "\x93NUMPY\x09", "truncated"},
      {"data.npy", "not an array", ".npy"},
      {"indices.npy", npy_of("<f4", std::vector<double>(6)), "integers"},
      {"indices.npy", npy("<i4", "2, 3", std::string(24, '\0')), "dimensions"},
      {"indptr.npy", npy_of("<i4", std::vector<int>{0, 2, 2, 5}), "5"},
      {"indptr.npy", npy_of("<i4", std::vector<int>{1, 2, 2, 5, 6}), "begins with 1"},
      {"indptr.npy", npy_of("<i4", std::vector<int>{0, 2, 1, 5, 6}), "not monotone at row 1"},
      {"indptr.npy", npy_of("<i4", std::vector<int>{0, 2, 2, 5, 7}), "not monotone at row 3"},
      {"shape.npy", npy_of("<i8", std::vector<int>{4, 9, 1}), "two"},
      {"shape.npy", npy_of("<i8", std::vector<int>{-4, 9}), "-4"},
      {"format.npy", npy("|S3", "", "bsr"), "bsr"},
      {"format.npy", npy("|S3", "", "dia"), "dia"},
      {"format.npy", npy("<i4", "", "abcd"), "not a string"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(error_of_reading(spoiled(bad.member, bad.content)),
                AllOf(StartsWith("65: "), HasSubstr(bad.member), HasSubstr(bad.says)));
  }
}

TEST_F(NpzTest, OffsetsThatWrappedIn32BitsAreRefusedWithTheRow) {
  const std::vector<std::int64_t> wrapped{0, 2147483647, -2147483640, 5, 6};

  EXPECT_THAT(
      error_of_reading(spoiled("indptr.npy", npy_of("<i4", wrapped))),
      AllOf(StartsWith("65: "), HasSubstr("indptr.npy"), HasSubstr("not monotone at row 0")));
}

TEST_F(NpzTest, ABadEntryIsReportedByRowAndPlace) {
  const auto with = [&](Entries row) {
    CsrMatrix matrix = matrix_of(9, {{{1, 1.0}}, row});
    return error_of_reading(npz_of(matrix));
  };

  EXPECT_THAT(with({{0, 1.0}, {9, 1.0}}),
              AllOf(StartsWith("65: "), HasSubstr("indices.npy"), HasSubstr("row 1, entry 1"),
                    HasSubstr("column 9")));
  EXPECT_THAT(
      error_of_reading(spoiled("indices.npy", npy_of("<i4", std::vector<int>{3, -1, 7, 1, 7, 0}))),
      AllOf(HasSubstr("row 0, entry 1"), HasSubstr("column -1")));
  EXPECT_THAT(with({{2, NAN}}),
              AllOf(HasSubstr("data.npy"), HasSubstr("row 1, entry 0"), HasSubstr("not a number")));
  EXPECT_THAT(with({{2, INFINITY}}), HasSubstr("infinite"));
}

TEST_F(NpzTest, ABadCoordinateIsReported) {
  CsrMatrix matrix = matrix_of(9, {{{1, 1.0}}, {{4, 2.0}}});
  matrix.col_indices[1] = 9;

  EXPECT_THAT(error_of_reading(coo_of(matrix, "row and col")),
              AllOf(StartsWith("65: "), HasSubstr("entry 1"), HasSubstr("column 9")));
}

TEST_F(NpzTest, OffsetsOfColumnsMustReachTheLastValue) {
  ZipWriter zip;
  zip.add("indices.npy", npy_of("<i4", std::vector<int>{0, 1, 0}));
  zip.add("indptr.npy", npy_of("<i4", std::vector<int>{0, 1, 2}));
  zip.add("format.npy", npy("|S3", "", "csc"));
  zip.add("shape.npy", npy_of("<i8", std::vector<int>{2, 2}));
  zip.add("data.npy", npy_of("<f4", std::vector<int>{1, 2, 3}));

  EXPECT_THAT(error_of_reading(zip.finish()),
              AllOf(StartsWith("65: "), HasSubstr("indptr.npy"), HasSubstr("3 values")));
}

TEST_F(NpzTest, AnIntegerBeyondFloat64IsRefused) {
  const std::string elements("\1\0\0\0\0\0\x20\0", 8);  // 2^53 + 1
  ZipWriter zip;
  zip.add("indices.npy", npy_of("<i4", std::vector<int>{0}));
  zip.add("indptr.npy", npy_of("<i4", std::vector<int>{0, 1}));
  zip.add("format.npy", npy("|S3", "", "csr"));
  zip.add("shape.npy", npy_of("<i8", std::vector<int>{1, 1}));
  zip.add("data.npy", npy("<i8", "1,", elements));

  EXPECT_THAT(error_of_reading(zip.finish()),
              AllOf(StartsWith("65: "), HasSubstr("data.npy"), HasSubstr("too large")));
}

TEST_F(NpzTest, MembersThatOccurTwiceOrShareBytesAreRefused) {
  ZipWriter twice;
  for (const auto& [name, content] : members_of(small_matrix()))
    twice.add(name, content);
  twice.add("data.npy", "again");
  EXPECT_THAT(error_of_reading(twice.finish()), AllOf(StartsWith("65: "), HasSubstr("twice")));

  std::string shared = npz_of(small_matrix());
  const std::size_t entry = shared.rfind("PK\1\2");  // the last one, data.npy
  const std::uint32_t at = 0;
  std::memcpy(&shared[entry + 42], &at, sizeof at);
  EXPECT_THAT(error_of_reading(shared), StartsWith("65: "));
}

TEST_F(NpzTest, MoreBytesThanDeflateCanHoldAreRefused) {
  std::string bytes = npz_of(small_matrix(), {.zip = {8, false, true}});
  const std::size_t entry = bytes.rfind("PK\1\2");  // the last one, data.npy
  const std::uint32_t claimed = 1'000'000'000;
  std::memcpy(&bytes[entry + 24], &claimed, sizeof claimed);

  EXPECT_THAT(error_of_reading(bytes),
              AllOf(StartsWith("65: "), HasSubstr("data.npy"), HasSubstr("1000000000")));
}

TEST_F(NpzTest, ASmallFileThatClaimsThirtyTwoGigabytesIsRefused) {
  EXPECT_THAT(error_of_reading(spoiled("data.npy", npy("<f4", "8589934592,", ""))),
              AllOf(StartsWith("65: "), HasSubstr("data.npy")));
}

TEST(NpyHeader, ReadsKeysInAnyOrder) {
  const NpyHeader header =
      parse_npy_header("{\"shape\": (3L, 4),'fortran_order':True ,'descr': '>u2',}  \n", "x");

  EXPECT_EQ(header.shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.type.kind, 'u');
  EXPECT_EQ(header.type.bytes, 2);
  EXPECT_TRUE(header.type.swapped);
}

TEST(NpyHeader, AnythingElseIsRefused) {
  for (const std::string text :
       {"", "{", "{'descr': '<f4'", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} extra",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': False}", "{'descr': [('a', '<f4')], 'shape': ()}",
        "{'descr': 'f4', 'fortran_order': False, 'shape': ()}", "{'other': 'x'}",
        "{'descr': '<f0', 'fortran_order': False, 'shape': (99999999999,)}",
        "{'descr': '<f99999999999999999999', 'fortran_order': False, 'shape': ()}"}) {
    EXPECT_THAT(error_of([&] { parse_npy_header(text, "member"); }), StartsWith("65: member"))
        << text;
  }
}

}  // namespace
}  // namespace bulksim
