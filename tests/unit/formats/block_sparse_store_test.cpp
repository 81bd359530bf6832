#include "formats/store/block_sparse_store.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "bulksim/core/types.hpp"
#include "comm/communicator.hpp"
#include "formats/store/store_header.hpp"
#include "job/input/survey.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::entries_of;
using test::error_of;
using test::matrix_of;
using test::random_rows;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

StringTable numbered(const std::string& prefix, std::int64_t count) {
  StringTable texts;
  for (std::int64_t i = 0; i < count; ++i)
    texts.add(prefix + std::to_string(i));
  return texts;
}

class BlockSparseStoreTest : public testing::Test {
 protected:
  /// Writes a store of canonical rows.
  std::string write(const CsrMatrix& rows, StoreInfo store_info = {}) {
    store_info.columns = rows.columns;
    StoreWriter writer(calls_, path_);
    for (std::int64_t begin = 0; begin < rows.rows(); begin += kRowBlockRows) {
      writer.append(rows.view().slice({begin, std::min(begin + kRowBlockRows, rows.rows())}));
    }
    sizes_ = writer.finish(store_info);
    return path_;
  }

  std::unique_ptr<MatrixSource> store_of(const CsrMatrix& rows, StoreInfo store_info = {}) {
    return open_matrix(calls_, write(rows, std::move(store_info)));
  }

  /// Makes the store one of version 1, whose header has no extension.
  void make_version_1() {
    std::string file = test::read_file(path_);
    StoreHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    header.version = 1;
    header.crc = crc_of(header);
    std::memcpy(file.data(), &header, sizeof header);
    std::fill_n(file.data() + sizeof header, sizeof(StoreHeaderExtension), '\0');
    std::ofstream(path_, std::ios::binary) << file;
  }

  /// Opens the store and reads it all.
  void read_all() {
    const auto store = open_matrix(calls_, path_);
    CsrMatrix rows;
    store->read({0, store->info().rows}, rows);
    store->ids();
    store->terms();
  }

  FileCalls& calls_ = system_file_calls();
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "matrix.h5";
  StoreSizes sizes_;
};

TEST_F(BlockSparseStoreTest, ReadsAnyRangeOfRows) {
  const CsrMatrix rows = random_rows(2500, 100'000, 8, 1);
  const auto store = store_of(rows);
  const auto all = entries_of(rows);

  for (const RowRange range : {RowRange{0, 2500},
                               {0, 1},
                               {1023, 1025},
                               {1024, 2048},
                               {2499, 2500},
                               {700, 700},
                               {5, 2400}}) {
    CsrMatrix read;
    store->read(range, read);

    EXPECT_EQ(entries_of(read), std::vector(all.begin() + range.begin, all.begin() + range.end));
    EXPECT_EQ(read.columns, rows.columns);
  }
}

TEST_F(BlockSparseStoreTest, DescribesItsContents) {
  const CsrMatrix rows = random_rows(1100, 5000, 6, 2);

  const auto store = store_of(rows);

  EXPECT_EQ(store->info().path, path_);
  EXPECT_EQ(store->info().rows, 1100);
  EXPECT_EQ(store->info().columns, 5000);
  EXPECT_EQ(store->info().nnz, rows.nnz());
  EXPECT_FALSE(store->info().has_ids);
  EXPECT_FALSE(store->info().vocabulary);
  EXPECT_TRUE(store->ids().empty());
  EXPECT_TRUE(store->terms().empty());
}

TEST_F(BlockSparseStoreTest, CarriesTheSurveyOfItsRows) {
  const CsrMatrix rows = random_rows(1500, 5000, 6, 3);
  StoreInfo store_info;
  store_info.counts = {3, 5, 7, 11};

  const auto store = store_of(rows, store_info);

  const CsrView first = rows.view().slice({0, 1024});
  const CsrView second = rows.view().slice({1024, 1500});
  const RowSurvey expected{longest_row(rows.view()),
                           value_info(rows.view()).rounding,
                           store_info.counts,
                           {row_block_digest(first), row_block_digest(second)},
                           {first.nnz(), second.nnz()}};
  ASSERT_NE(store->survey(), nullptr);
  EXPECT_EQ(*store->survey(), expected);
}

TEST_F(BlockSparseStoreTest, OfVersion1IsSurveyedForWhatItLacks) {
  const CsrMatrix rows = random_rows(2500, 300, 9, 14);
  const auto comm = make_self_communicator();
  const auto surveyed = [&] {
    const auto store = open_matrix(calls_, path_);
    return survey_inputs(*store, *store, Irregular::kRefuse, *comm).items;
  };
  write(rows);
  const InputSurvey of_version_2 = surveyed();

  make_version_1();
  const auto store = open_matrix(calls_, path_);
  const InputSurvey of_version_1 = surveyed();

  ASSERT_NE(store->survey(), nullptr);
  EXPECT_FALSE(store->survey()->rounding);
  EXPECT_EQ(of_version_1.values.rounding, value_info(rows.view()).rounding);
  EXPECT_EQ(of_version_1.values.rounding, of_version_2.values.rounding);
  EXPECT_GT(of_version_1.values.rounding.exact_rows, 500);
  EXPECT_GT(of_version_1.values.rounding.longest_rounded_row, 9);
  EXPECT_EQ(of_version_1.row_blocks, of_version_2.row_blocks);
  EXPECT_EQ(of_version_1.longest_row, of_version_2.longest_row);
  CsrMatrix read;
  store->read({0, 2500}, read);
  EXPECT_EQ(entries_of(read), entries_of(rows));
}

TEST_F(BlockSparseStoreTest, OfALaterVersionIsRefused) {
  write(random_rows(10, 50, 3, 15));
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(16) << '\3';

  EXPECT_THAT(error_of([&] { open_matrix(calls_, path_); }),
              AllOf(StartsWith("65: "), HasSubstr("version 3")));
}

TEST_F(BlockSparseStoreTest, CarriesIdsOfRowsAndColumns) {
  StoreInfo store_info;
  store_info.ids = numbered("document ", 30);
  store_info.terms = numbered("t\n\u00e9", 12);

  const auto store = store_of(random_rows(30, 12, 3, 4), store_info);

  EXPECT_TRUE(store->info().has_ids);
  EXPECT_EQ(store->info().vocabulary, store_info.terms.digest());
  EXPECT_EQ(store->ids(), store_info.ids);
  EXPECT_EQ(store->terms(), store_info.terms);
}

TEST_F(BlockSparseStoreTest, AMatrixWithoutRowsAndOneWithoutNonzerosAreKept) {
  const auto no_rows = store_of(matrix_of(7, {}));
  EXPECT_EQ(no_rows->info().rows, 0);

  const auto no_nonzeros = store_of(matrix_of(7, {{}, {}}));
  CsrMatrix read;
  no_nonzeros->read({0, 2}, read);
  EXPECT_EQ(entries_of(read), entries_of(matrix_of(7, {{}, {}})));
}

TEST_F(BlockSparseStoreTest, SizesAreThoseOfTheArrays) {
  StoreInfo store_info;
  store_info.ids = numbered("i", 10);

  write(random_rows(10, 12, 3, 5), store_info);

  EXPECT_GT(sizes_.rows, 0);
  EXPECT_EQ(sizes_.survey, 16 + 8);
  EXPECT_EQ(sizes_.ids, 11 * 8 + 20);
  EXPECT_EQ(sizes_.vocabulary, 0);
  EXPECT_LT(std::filesystem::file_size(path_), 65536u + 1000u);
}

TEST_F(BlockSparseStoreTest, EqualRowsMakeEqualFiles) {
  const CsrMatrix rows = random_rows(1100, 5000, 6, 6);
  const std::string once = test::read_file(write(rows));

  const std::string again = test::read_file(write(rows));

  EXPECT_TRUE(once == again);
}

TEST_F(BlockSparseStoreTest, IsAnHdf5FileWithDescribingAttributes) {
  const CsrMatrix rows = random_rows(1100, 5000, 6, 7);
  const hid_t file = H5Fopen(write(rows).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  std::int64_t nonzeros = 0;
  const hid_t attribute = H5Aopen(file, "nonzeros", H5P_DEFAULT);
  H5Aread(attribute, H5T_NATIVE_INT64, &nonzeros);
  H5Aclose(attribute);
  std::vector<std::int64_t> row_block_nnz(2);
  const hid_t array = H5Dopen2(file, "row_block_nnz", H5P_DEFAULT);
  const herr_t status =
      H5Dread(array, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, row_block_nnz.data());
  H5Dclose(array);
  H5Fclose(file);

  EXPECT_EQ(nonzeros, rows.nnz());
  EXPECT_GE(status, 0);
  EXPECT_EQ(row_block_nnz[0] + row_block_nnz[1], rows.nnz());
}

TEST_F(BlockSparseStoreTest, ManyThreadsReadAtOnce) {
  const CsrMatrix rows = random_rows(4096, 5000, 6, 8);
  const auto store = store_of(rows);
  const auto all = entries_of(rows);
  std::vector<CsrMatrix> read(4);

  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < read.size(); ++i) {
      readers.emplace_back([&, i] {
        const auto begin = static_cast<std::int64_t>(i) * 1000;
        store->read({begin, begin + 1000}, read[i]);
      });
    }
  }

  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    EXPECT_EQ(entries_of(read[static_cast<std::size_t>(i)]),
              std::vector(all.begin() + i * 1000, all.begin() + (i + 1) * 1000));
  }
}

TEST_F(BlockSparseStoreTest, AnAbandonedWriterLeavesNothing) {
  {
    StoreWriter writer(calls_, path_);
    writer.append(random_rows(1024, 50, 3, 9).view());
  }

  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(BlockSparseStoreTest, FilesBesideItAreLeftAlone) {
  std::ofstream(path_ + ".tmp") << "somebody's";

  const auto store = store_of(random_rows(10, 50, 3, 10));

  EXPECT_EQ(store->info().rows, 10);
  EXPECT_EQ(test::read_file(path_ + ".tmp"), "somebody's");
}

TEST_F(BlockSparseStoreTest, AnotherHdf5FileIsNotAStore) {
  H5Fclose(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));

  const std::string error = error_of([&] { open_matrix(calls_, path_); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr(path_), HasSubstr("is not a store")));
}

TEST_F(BlockSparseStoreTest, ADamagedRowBlockIsReportedByItsRows) {
  write(random_rows(2000, 50, 3, 11));
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(65536 + 200) << "xyz";
  const auto store = open_matrix(calls_, path_);
  CsrMatrix rows;

  const std::string error = error_of([&] { store->read({0, 10}, rows); });

  EXPECT_THAT(error, AllOf(StartsWith("65: "), HasSubstr("rows 0 to 1023"), HasSubstr("damaged")));
}

TEST_F(BlockSparseStoreTest, EveryRelevantChangedByteIsDetected) {
  StoreInfo store_info;
  store_info.ids = numbered("i", 40);
  write(random_rows(40, 50, 3, 12), store_info);
  const std::string good = test::read_file(path_);
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < sizeof(StoreHeader) + sizeof(StoreHeaderExtension); ++at)
    places.push_back(at);
  for (std::size_t at = 65536; at < good.size(); ++at)
    places.push_back(at);

  for (const std::size_t at : places) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    std::ofstream(path_, std::ios::binary) << bad;

    EXPECT_THAT(error_of([&] { read_all(); }), StartsWith("65: ")) << "byte " << at;
  }
}

TEST_F(BlockSparseStoreTest, ATruncatedFileIsRefused) {
  write(random_rows(40, 50, 3, 13));
  const auto size = std::filesystem::file_size(path_);

  for (const std::uintmax_t left : {std::uintmax_t{0}, std::uintmax_t{300}, std::uintmax_t{320},
                                    std::uintmax_t{4096}, std::uintmax_t{65536}, size - 1}) {
    std::filesystem::resize_file(path_, left);

    EXPECT_THAT(error_of([&] { open_matrix(calls_, path_); }), StartsWith("65: ")) << left;
    write(random_rows(40, 50, 3, 13));
  }
}

}  // namespace
}  // namespace bulksim
