#include "storage/parts/part_layout.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/files/forwarding_calls.hpp"
#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::Parts;
using test::TemporaryFolder;

FileCalls& calls = system_file_calls();

/// One part with the whole matrix.
Parts single_part(const std::string& path, const TileGrid& grid) {
  return {{path}, {path}, {plan_part(grid, {0, grid.columns()}, "tiles")}};
}

struct PartCase {
  MatrixShape shape;
  TileShape tile;
};

void PrintTo(const PartCase& c, std::ostream* out) {
  *out << c.shape.queries << "x" << c.shape.items << "_in_tiles_of_" << c.tile.queries << "x"
       << c.tile.items;
}

class PartShapes : public testing::TestWithParam<PartCase> {};

TEST_P(PartShapes, TileWrittenAtItsOffsetIsWhatHdf5Reads) {
  const TemporaryFolder folder;
  const TileGrid grid(GetParam().shape, GetParam().tile);
  const std::int64_t count = std::min<std::int64_t>(grid.columns(), 3);
  const Parts parts = test::preallocate(folder.path(), grid, count);
  test::fill(grid, parts);

  std::vector<test::RawMatrix> read;
  for (const std::string& path : parts.paths)
    read.push_back(test::read_hdf5(path, "tiles"));

  ASSERT_EQ(std::ssize(read), count);
  for (std::size_t p = 0; p < read.size(); ++p) {
    const RowRange items = items_of(parts.layouts[p], grid);
    EXPECT_FALSE(read[p].failed);
    EXPECT_EQ(read[p].values, test::block_values({0, grid.shape().queries}, items));
    EXPECT_EQ(File::open(calls, parts.paths[p], O_RDONLY).size(), parts.layouts[p].file_bytes);
    EXPECT_EQ(parts.layouts[p].data_offset % (1 << 20), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(EdgeTiles, PartShapes,
                         testing::Values(PartCase{{1, 1}, {1, 1}},    // the smallest
                                         PartCase{{3, 3}, {4, 4}},    // less than a tile
                                         PartCase{{8, 12}, {4, 4}},   // whole tiles
                                         PartCase{{9, 13}, {4, 4}},   // one past a tile border
                                         PartCase{{7, 11}, {4, 4}},   // one before a tile border
                                         PartCase{{1, 100}, {1, 7}},  // one query
                                         PartCase{{100, 1}, {7, 1}},  // one item
                                         PartCase{{300, 700}, {64, 256}}),
                         testing::PrintToStringParamName());

TEST(PartFile, EqualLayoutsProduceEqualBytesAtAnyTime) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  const Parts first = test::preallocate(folder / "first", grid, 2);
  sleep(1);  // time stamps of HDF5 count seconds
  const Parts second = test::preallocate(folder / "second", grid, 2);

  test::fill(grid, first);
  test::fill(grid, second);

  for (std::size_t p = 0; p < 2; ++p) {
    const std::string bytes = test::read_file(first.paths[p]);
    EXPECT_EQ(std::ssize(bytes), first.layouts[p].file_bytes);
    EXPECT_EQ(bytes, test::read_file(second.paths[p])) << first.paths[p];
  }
}

TEST(PartFile, Hdf5FindsEveryTileOf400GbWhereItIsPlanned) {
  const TemporaryFolder folder;
  class Unlimited final : public ForwardingCalls {
    std::int64_t free_bytes(const char*) override { return std::int64_t{1} << 50; }
    int fallocate(int, off_t, off_t) override {
      errno = EOPNOTSUPP;
      return -1;
    }
  } unlimited;
  const TileGrid grid({50000, 2000000}, {1024, 4096});
  const Parts part = single_part(folder / "part.h5", grid);

  preallocate_parts(unlimited, grid, part.paths, part.layouts);

  EXPECT_NO_THROW(check_part(calls, part.paths[0], grid, part.layouts[0]));
  EXPECT_EQ(part.layouts[0].offset(grid, {48, 488}),
            (std::int64_t{1} << 20) + 23960 * (std::int64_t{16} << 20));
}

TEST(PartFile, ATileOf4GibIsRefusedWithTheLimit) {
  const TileGrid too_large({32768, 32768}, {32768, 32768});
  const TileGrid largest({32767, 32768}, {32767, 32768});

  const auto plan_too_large = [&] { plan_part(too_large, {0, 1}, "tiles"); };
  const PartLayout layout = plan_part(largest, {0, 1}, "tiles");

  expect_error(ExitCode::kUsage, {"32768 x 32768", "4294967295", "--tile"}, plan_too_large);
  EXPECT_EQ(layout.tile_bytes, std::int64_t{32767} * 32768 * 4);
}

TEST(PartFile, AFileSizeBeyond63BitsIsRefused) {
  const TileGrid grid({std::int64_t{1} << 31, std::int64_t{1} << 31}, {1024, 4096});
  const TileGrid beyond({std::int64_t{1} << 31, std::int64_t{1} << 32}, {1024, 4096});

  const auto plan = [&] { plan_part(grid, {0, grid.columns()}, "tiles"); };
  const auto plan_beyond = [&] { plan_part(beyond, {0, beyond.columns()}, "tiles"); };

  expect_error(ExitCode::kUsage, {"--parts"}, plan);
  expect_error(ExitCode::kUsage, {"--parts"}, plan_beyond);
}

class EmptyShapes : public testing::TestWithParam<MatrixShape> {};

TEST_P(EmptyShapes, MatrixWithoutCellsIsAnOrdinaryEmptyDataset) {
  const TemporaryFolder folder;
  const TileGrid grid(GetParam(), {4, 4});
  const Parts part = single_part(folder / "part.h5", grid);
  preallocate_parts(calls, grid, part.paths, part.layouts);
  write_attributes(calls, part.paths[0], grid, part.layouts[0], {{"complete", std::int64_t{1}}});

  const test::RawMatrix read = test::read_hdf5(part.paths[0], "tiles");

  EXPECT_FALSE(part.layouts[0].has_tiles());
  EXPECT_FALSE(read.failed);
  EXPECT_EQ(read.extent, (std::vector<hsize_t>{static_cast<hsize_t>(GetParam().queries),
                                               static_cast<hsize_t>(GetParam().items)}));
}

INSTANTIATE_TEST_SUITE_P(NoRowsOrNoColumns, EmptyShapes,
                         testing::Values(MatrixShape{0, 5}, MatrixShape{5, 0}, MatrixShape{0, 0}));

TEST(PartFile, RefusesAnExistingName) {
  const TemporaryFolder folder;
  const TileGrid grid({4, 4}, {4, 4});
  const Parts part = single_part(folder / "part.h5", grid);
  replace_file(calls, folder / "part.h5", "someone else's");

  const auto preallocate = [&] { preallocate_parts(calls, grid, part.paths, part.layouts); };

  expect_error(ExitCode::kCannotCreate, {folder / "part.h5"}, preallocate);
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"part.h5"});
  EXPECT_EQ(test::read_file(folder / "part.h5"), "someone else's");
}

TEST(PartFile, ReportsWhenSpaceCannotBeReserved) {
  const TemporaryFolder folder;
  class NoReservation final : public ForwardingCalls {
    int fallocate(int, off_t, off_t) override {
      errno = EOPNOTSUPP;
      return -1;
    }
  } unreserved;
  const TileGrid grid({4, 4}, {4, 4});
  const Parts one = single_part(folder / "one.h5", grid);
  const Parts other = single_part(folder / "other.h5", grid);

  const Reservation with = preallocate_parts(calls, grid, one.paths, one.layouts);
  const Reservation without = preallocate_parts(unreserved, grid, other.paths, other.layouts);

  EXPECT_EQ(with, Reservation::kReserved);
  EXPECT_EQ(without, Reservation::kNotSupported);
  EXPECT_EQ(test::read_file(one.paths[0]), test::read_file(other.paths[0]));
}

TEST(PartFile, TooLittleSpaceIsDetectedBeforeAnyFileIsCreated) {
  const TemporaryFolder folder;
  class AlmostFull final : public ForwardingCalls {
    std::int64_t free_bytes(const char*) override { return 2097279; }
  } almost_full;
  const TileGrid grid({4, 8}, {4, 4});
  make_directories(calls, folder / "parts");
  const Parts parts = test::plan_parts(folder.path(), grid, 2);

  const auto preallocate = [&] {
    preallocate_parts(almost_full, grid, parts.paths, parts.layouts);
  };

  expect_error(ExitCode::kIoError, {"needs 2097280 bytes", "2097279 are free"}, preallocate);
  EXPECT_TRUE(list_directory(calls, folder / "parts").empty());
}

/// Lets the calling process mount: as it is, or as the root of a user namespace of its own.
bool enter_mount_namespace() {
  const std::string user = "0 " + std::to_string(geteuid()) + " 1";
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (unshare(CLONE_NEWNS | CLONE_NEWUSER) == -1) return false;
  std::ofstream("/proc/self/uid_map") << user;
  return true;
}

/// Mounts a file system of 4 MiB on `path`, visible only to this process.
bool mount_small_disk(const std::string& path) {
  return enter_mount_namespace() &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", path.c_str(), "tmpfs", 0, "size=4m") == 0;
}

TEST(PartFile, AFullDiskStopsPreallocationWithTheExitCodeOfIo) {
  const TemporaryFolder folder;
  constexpr int kNoMount = 99;
  const TileGrid grid({1024, 2048}, {1024, 1024});
  // The space check passes here, so that fallocate detects the full disk.
  class Optimist final : public ForwardingCalls {
    std::int64_t free_bytes(const char*) override { return std::int64_t{1} << 40; }
  } optimist;
  const auto preallocate_on_small_disk = [&](FileCalls& with) {
    return test::in_child([&] {
      if (!mount_small_disk(folder.path())) return kNoMount;
      make_directories(with, folder / "parts");
      const Parts parts = test::plan_parts(folder.path(), grid, 2);
      preallocate_parts(with, grid, parts.paths, parts.layouts);
      return 0;
    });
  };

  const int honest = preallocate_on_small_disk(calls);
  const int surprised = preallocate_on_small_disk(optimist);

  if (honest == kNoMount)
    GTEST_SKIP() << "this machine does not allow mounting a file system, even in a user namespace";
  EXPECT_EQ(honest, 74);
  EXPECT_EQ(surprised, 74);
}

TEST(PartFile, KilledWriterLosesNoTileItHasWritten) {
  const TemporaryFolder folder;
  const TileGrid grid({64, 40960}, {16, 1024});
  const Parts parts = test::preallocate(folder.path(), grid, 4);
  int written[2];
  ASSERT_EQ(pipe(written), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);
    for (std::int64_t number = 0;; number = (number + 1) % grid.count()) {
      files.write(grid.id(number), 0, test::tile_values(grid, grid.id(number)));
      if (write(written[1], &number, sizeof number) != sizeof number) _exit(1);
    }
  }

  std::int64_t last = -1;
  while (last < 100 && read(written[0], &last, sizeof last) == sizeof last) {
  }
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);

  ASSERT_EQ(last, 100);
  for (std::size_t p = 0; p < parts.paths.size(); ++p) {
    const test::RawMatrix read = test::read_hdf5(parts.paths[p], "tiles");
    ASSERT_FALSE(read.failed) << parts.paths[p];
    const RowRange columns = parts.layouts[p].tile_columns;
    const auto width = static_cast<std::size_t>(items_of(parts.layouts[p], grid).size());
    for (std::int64_t number = 0; number <= last; ++number) {
      const TileId id = grid.id(number);
      if (id.column < columns.begin || id.column >= columns.end) continue;
      const auto row = static_cast<std::size_t>(grid.queries(id.row).begin);
      const auto column =
          static_cast<std::size_t>(grid.items(id.column).begin - grid.items(columns.begin).begin);
      EXPECT_EQ(read.values[row * width + column], test::tile_values(grid, id).front()) << number;
    }
  }
}

TEST(WriteAttributes, AreWrittenAfterTheLastTileAndMoveNoTile) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  const Parts part = single_part(folder / "part.h5", grid);
  preallocate_parts(calls, grid, part.paths, part.layouts);
  test::fill(grid, part);
  const FileAttributes attributes{{"complete", std::int64_t{1}},
                                  {"error_bound", 1.25e-7},
                                  {"metric", std::string("cosine")},
                                  {"note", std::string()}};

  write_attributes(calls, part.paths[0], grid, part.layouts[0], attributes);
  const std::string once = test::read_file(part.paths[0]);
  write_attributes(calls, part.paths[0], grid, part.layouts[0], attributes);

  EXPECT_EQ(test::read_file(part.paths[0]), once);
  EXPECT_EQ(std::ssize(once), part.layouts[0].file_bytes);
  EXPECT_EQ(test::read_hdf5(part.paths[0], "tiles").values, test::matrix_values(grid));
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"part.h5"});
}

TEST(CheckPart, AcceptsAPreallocatedPart) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  const Parts part = single_part(folder / "part.h5", grid);
  preallocate_parts(calls, grid, part.paths, part.layouts);

  EXPECT_NO_THROW(check_part(calls, part.paths[0], grid, part.layouts[0]));
}

/// Ways in which a part can be damaged; each reads as fill values through a virtual dataset.
struct Damage {
  std::string name;
  void (*inflict)(const std::string& path);
  std::string word;
};

void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}

void replace_by(const std::string& path, TileGrid grid, const std::string& dataset) {
  const PartLayout layout = plan_part(grid, {0, grid.columns()}, dataset);
  remove_file(calls, path);
  preallocate_parts(calls, grid, {path}, {layout});
}

void replace_by_doubles(const std::string& path) {
  const std::int64_t bytes = File::open(calls, path, O_RDONLY).size();
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t extent[2] = {9, 13};
  const hid_t space = H5Screate_simple(2, extent, nullptr);
  const hid_t data =
      H5Dcreate2(file, "tiles", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(data);
  H5Sclose(space);
  H5Fclose(file);
  ASSERT_EQ(truncate(path.c_str(), bytes), 0);
}

class DamagedPart : public testing::TestWithParam<Damage> {};

TEST_P(DamagedPart, IsRefusedByName) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  const Parts part = single_part(folder / "part.h5", grid);
  preallocate_parts(calls, grid, part.paths, part.layouts);
  GetParam().inflict(part.paths[0]);

  const auto check = [&] { check_part(calls, part.paths[0], grid, part.layouts[0]); };

  expect_error(ExitCode::kDataError, {part.paths[0], GetParam().word}, check);
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, DamagedPart,
    testing::Values(
        Damage{"missing", [](const std::string& path) { unlink(path.c_str()); }, "is missing"},
        Damage{"empty", [](const std::string& path) { ASSERT_EQ(truncate(path.c_str(), 0), 0); },
               "truncated (0 of"},
        Damage{"truncated",
               [](const std::string& path) { ASSERT_EQ(truncate(path.c_str(), 1048600), 0); },
               "truncated"},
        Damage{"too_long",
               [](const std::string& path) { ASSERT_EQ(truncate(path.c_str(), 9000000), 0); },
               "too long"},
        Damage{"garbage",
               [](const std::string& path) {
                 std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
                 file << std::string(5000, 'x');
               },
               "cannot open"},
        Damage{"folder",
               [](const std::string& path) {
                 unlink(path.c_str());
                 make_directories(calls, path);
               },
               "not a regular file"},
        Damage{"link",
               [](const std::string& path) {
                 rename_durably(calls, path, path + ".moved");
                 ASSERT_EQ(symlink("part.h5.moved", path.c_str()), 0);
               },
               "not a regular file"},
        Damage{"other_dataset",
               [](const std::string& path) {
                 replace_by(path, {{9, 13}, {4, 4}}, "other");
               },
               "'tiles'"},
        Damage{"other_shape",
               [](const std::string& path) {
                 replace_by(path, {{10, 13}, {4, 4}}, "tiles");
               },
               "a matrix of another shape"},
        Damage{"other_tiles",
               [](const std::string& path) {
                 replace_by(path, {{9, 13}, {6, 4}}, "tiles");
               },
               "tiles of another shape"},
        Damage{"other_type", replace_by_doubles, "not a float32 or float16 matrix"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace bulksim
