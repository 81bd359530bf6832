#include "storage/result/similarity_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::Parts;
using test::TemporaryFolder;

FileCalls& calls = system_file_calls();

/// Creates a single-file result with all tiles and the attributes of a finished result.
Parts make_single_file(const std::string& path, const TileGrid& grid) {
  const Parts part{{path}, {path}, {plan_part(grid, {0, grid.columns()}, "similarity")}};
  preallocate_parts(calls, grid, part.paths, part.layouts);
  test::fill(grid, part);
  write_attributes(calls, path, grid, part.layouts[0], result_attributes(grid, {}));
  return part;
}

/// Runs a Python script, as a user would; returns its exit status.
int run_python(const std::string& script) {
  return std::system(("/usr/bin/python3 -c '" + script + "'").c_str());
}

class ViewShapes : public testing::TestWithParam<MatrixShape> {};

TEST_P(ViewShapes, ReadAsTheWholeMatrix) {
  const TemporaryFolder folder;
  const TileGrid grid(GetParam(), {4, 8});
  test::make_result(folder.path(), grid, std::min<std::int64_t>(grid.columns(), 3));

  const test::RawMatrix raw = test::read_hdf5(folder / "similarity.h5", "similarity");
  const SimilarityReader reader = SimilarityReader::open(calls, folder.path());

  EXPECT_FALSE(raw.failed);
  EXPECT_EQ(raw.values, test::matrix_values(grid));
  EXPECT_EQ(reader.grid(), grid);
  EXPECT_EQ(reader.read({0, grid.shape().queries}, {0, grid.shape().items}),
            test::matrix_values(grid));
}

INSTANTIATE_TEST_SUITE_P(EdgeTiles, ViewShapes,
                         testing::Values(MatrixShape{1, 1}, MatrixShape{4, 8}, MatrixShape{9, 41},
                                         MatrixShape{3, 64}, MatrixShape{17, 5}));

TEST(SimilarityFile, IsReadByH5pyFromAnotherFolderAfterTheTreeHasMoved) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  test::make_result(folder / "before", grid, 3, {{"metric", std::string("cosine")}});
  std::filesystem::rename(folder / "before", folder / "after");
  const std::string script =
      "import h5py, numpy as np\n"
      "with h5py.File(\"" +
      (folder / "after/similarity.h5") +
      "\", \"r\") as f:\n"
      "    d = f[\"similarity\"]\n"
      "    q, i = np.indices((9, 41))\n"
      "    assert d.is_virtual and d.dtype == np.float32 and d.shape == (9, 41)\n"
      "    assert (d[...] == q * 16384 + i + 1).all()\n"
      "    assert f.attrs[\"complete\"] == 1 and f.attrs[\"metric\"] == b\"cosine\"\n";

  const int status = run_python(script);

  EXPECT_EQ(status, 0);
}

TEST(SimilarityFile, EqualResultsAreEqualBytesInAnyFolder) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  const FileAttributes more{{"plan", std::string("0123")}, {"error_bound", 1e-7}};
  test::make_result(folder / "one", grid, 3, more);
  sleep(1);  // time stamps of HDF5 count seconds

  test::make_result(folder / "another", grid, 3, more);

  EXPECT_EQ(test::read_file(folder / "one/similarity.h5"),
            test::read_file(folder / "another/similarity.h5"));
}

TEST(SimilarityFile, MatrixWithoutCellsIsAnOrdinaryEmptyDataset) {
  const TemporaryFolder folder;
  const TileGrid no_items({5, 0}, {4, 8});
  const TileGrid no_queries({0, 5}, {4, 8});
  make_directories(calls, folder / "a");
  make_directories(calls, folder / "b");

  write_similarity_file(calls, folder / "a/similarity.h5", no_items, {}, {},
                        result_attributes(no_items, {}));
  write_similarity_file(calls, folder / "b/similarity.h5", no_queries, {}, {},
                        result_attributes(no_queries, {}));

  EXPECT_EQ(test::read_hdf5(folder / "a/similarity.h5", "similarity").extent,
            (std::vector<hsize_t>{5, 0}));
  EXPECT_EQ(SimilarityReader::open(calls, folder / "a").grid(), no_items);
  EXPECT_EQ(SimilarityReader::open(calls, folder / "b").grid(), no_queries);
}

TEST(SimilarityFile, AMissingPartReadsAsNanAndTheReaderRefusesIt) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  const Parts parts = test::make_result(folder.path(), grid, 3);
  remove_file(calls, parts.paths[1]);

  const test::RawMatrix raw = test::read_hdf5(folder / "similarity.h5", "similarity");
  const auto open = [&] { SimilarityReader::open(calls, folder.path()); };

  const RowRange lost = items_of(parts.layouts[1], grid);
  EXPECT_FALSE(raw.failed);
  EXPECT_EQ(std::count_if(raw.values.begin(), raw.values.end(),
                          [](float value) { return std::isnan(value); }),
            lost.size() * 9);
  expect_error(ExitCode::kDataError, {parts.paths[1].substr(folder.path().size()), "is missing"},
               open);
}

TEST(SimilarityFile, IsWrittenAndReadWithoutFileLocks) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  const std::string path = folder / "result.h5";
  const Parts part{{path}, {path}, {plan_part(grid, {0, grid.columns()}, "similarity")}};
  preallocate_parts(calls, grid, part.paths, part.layouts);
  test::fill(grid, part);
  const File held = File::open(calls, path, O_RDONLY);
  ASSERT_EQ(flock(held.descriptor(), LOCK_EX), 0);  // to HDF5, held by another program

  write_attributes(calls, path, grid, part.layouts[0], result_attributes(grid, {}));
  const SimilarityReader reader = SimilarityReader::open(calls, path);

  EXPECT_EQ(reader.read({0, 9}, {0, 41}), test::matrix_values(grid));
}

TEST(SimilarityReader, RefusesEmptyAndShortParts) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  const Parts parts = test::make_result(folder.path(), grid, 3);
  const auto open = [&] { SimilarityReader::open(calls, folder.path()); };

  ASSERT_EQ(truncate(parts.paths[2].c_str(), parts.layouts[2].file_bytes - 1), 0);
  expect_error(ExitCode::kDataError, {parts.names[2], "truncated"}, open);

  ASSERT_EQ(truncate(parts.paths[2].c_str(), 0), 0);
  expect_error(ExitCode::kDataError, {parts.names[2], "truncated (0 of"}, open);
}

TEST(SimilarityReader, RefusesPartsOfOtherColumns) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 48}, {4, 8});
  const Parts parts = test::make_result(folder.path(), grid, 3);

  write_similarity_file(calls, folder / "similarity.h5", grid, {parts.layouts[0], parts.layouts[2]},
                        {parts.names[0], parts.names[2]}, result_attributes(grid, {}));
  const auto open_with_a_hole = [&] { SimilarityReader::open(calls, folder.path()); };
  expect_error(ExitCode::kDataError, {"similarity.h5", parts.names[2]}, open_with_a_hole);

  write_similarity_file(calls, folder / "similarity.h5", grid, {parts.layouts[0]}, {parts.names[0]},
                        result_attributes(grid, {}));
  const auto open_without_the_end = [&] { SimilarityReader::open(calls, folder.path()); };
  expect_error(ExitCode::kDataError, {"similarity.h5", "lacks"}, open_without_the_end);
}

TEST(SimilarityReader, FollowsNoSourceOutsideItsFolder) {
  const TemporaryFolder folder;
  const TileGrid grid({4, 8}, {4, 8});
  const Parts parts = test::make_result(folder / "other", grid, 1);
  make_directories(calls, folder / "result");
  const std::string file = folder / "result/similarity.h5";

  for (const std::string& name : {std::string("../other/parts/part-00000.h5"), parts.paths[0]}) {
    write_similarity_file(calls, file, grid, parts.layouts, {name}, result_attributes(grid, {}));
    const auto open = [&] { SimilarityReader::open(calls, file); };

    expect_error(ExitCode::kDataError, {"not a part of this result"}, open);
  }
}

TEST(SimilarityReader, RefusesARunThatNeverFinished) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  const PartLayout layout = plan_part(grid, {0, grid.columns()}, "similarity");
  preallocate_parts(calls, grid, {folder / "result.h5"}, {layout});
  const auto open = [&] { SimilarityReader::open(calls, folder / "result.h5"); };

  expect_error(ExitCode::kDataError, {"result.h5", "complete"}, open);

  write_attributes(calls, folder / "result.h5", grid, layout,
                   {{"complete", std::int64_t{0}},
                    {"tile_queries", std::int64_t{4}},
                    {"tile_items", std::int64_t{4}}});
  expect_error(ExitCode::kDataError, {"result.h5", "did not finish"}, open);
}

TEST(SimilarityReader, FindsTheFileFromEveryPath) {
  const TemporaryFolder folder;
  const TileGrid grid({4, 8}, {4, 8});
  test::make_result(folder / "out/versions/000001-01234567", grid, 1);
  ASSERT_EQ(symlink("versions/000001-01234567", (folder / "out/CURRENT").c_str()), 0);
  ASSERT_EQ(symlink("out/CURRENT/similarity.h5", (folder / "link.h5").c_str()), 0);
  const std::string file =
      real_path(calls, folder.path()) + "/out/versions/000001-01234567/similarity.h5";

  for (const char* path : {"out", "out/", "out/CURRENT", "out/versions/000001-01234567",
                           "out/CURRENT/similarity.h5", "link.h5"}) {
    EXPECT_EQ(SimilarityReader::open(calls, folder / path).file(), file) << path;
  }
}

TEST(SimilarityReader, ReportsAMissingResult) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "empty");
  ASSERT_EQ(symlink("nowhere", (folder / "dangling").c_str()), 0);
  replace_file(calls, folder / "text.h5", "not a matrix");

  for (const char* path : {"empty", "none", "dangling"}) {
    const auto open = [&] { SimilarityReader::open(calls, folder / path); };
    expect_error(ExitCode::kNoInput, {folder / path}, open);
  }
  const auto open_text = [&] { SimilarityReader::open(calls, folder / "text.h5"); };
  expect_error(ExitCode::kDataError, {"text.h5"}, open_text);
}

TEST(SimilarityReader, ReadsBlocksAcrossTilesOfASingleFile) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  make_single_file(folder / "result.h5", grid);

  const SimilarityReader reader = SimilarityReader::open(calls, folder / "result.h5");

  EXPECT_EQ(reader.read({3, 9}, {2, 13}), test::block_values({3, 9}, {2, 13}));
  EXPECT_EQ(reader.read({8, 9}, {12, 13}), test::block_values({8, 9}, {12, 13}));
  EXPECT_TRUE(reader.read({2, 2}, {0, 13}).empty());
}

TEST(SimilarityReader, ReturnsTheAttributesByName) {
  const TemporaryFolder folder;
  const TileGrid grid({4, 8}, {4, 8});
  test::make_result(folder.path(), grid, 1,
                    {{"metric", std::string("cosine")}, {"error_bound", 1.25e-7}});

  const SimilarityReader reader = SimilarityReader::open(calls, folder.path());

  EXPECT_EQ(reader.attributes(), (FileAttributes{{"complete", std::int64_t{1}},
                                                 {"error_bound", 1.25e-7},
                                                 {"metric", std::string("cosine")},
                                                 {"tile_items", std::int64_t{8}},
                                                 {"tile_queries", std::int64_t{4}}}));
}

TEST(SimilarityFile, With240PartsIsReadableUnderALimitOf256OpenFiles) {
  const TemporaryFolder folder;
  const TileGrid grid({3, 480}, {2, 2});
  test::make_result(folder.path(), grid, 240);

  const int raw = test::in_child([&] {
    test::limit_open_files(256);
    return test::read_hdf5(folder / "similarity.h5", "similarity").values ==
                   test::matrix_values(grid)
               ? 0
               : 1;
  });
  const int reader = test::in_child([&] {
    test::limit_open_files(256);
    return SimilarityReader::open(calls, folder.path()).read({0, 3}, {0, 480}) ==
                   test::matrix_values(grid)
               ? 0
               : 1;
  });

  EXPECT_EQ(raw, 0);
  EXPECT_EQ(reader, 0);
}

}  // namespace
}  // namespace bulksim
