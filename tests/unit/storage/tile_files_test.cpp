#include "storage/parts/tile_files.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/files/forwarding_calls.hpp"
#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::Parts;
using test::TemporaryFolder;

FileCalls& calls = system_file_calls();

/// Counts files that are open at the same time, and writes since the last sync of each file.
class CountingCalls final : public ForwardingCalls {
 public:
  int open(const char* path, int flags, mode_t mode) override {
    const int now = ++open_now;
    int most = open_most;
    while (now > most && !open_most.compare_exchange_weak(most, now)) {
    }
    return ForwardingCalls::open(path, flags, mode);
  }
  int close(int fd) override {
    --open_now;
    return ForwardingCalls::close(fd);
  }
  int fdatasync(int fd) override {
    ++syncs;
    return ForwardingCalls::fdatasync(fd);
  }

  std::atomic<int> open_now = 0;
  std::atomic<int> open_most = 0;
  std::atomic<int> syncs = 0;
};

TEST(TileFiles, ManyThreadsWriteStripesWhileAnotherSyncs) {
  const TemporaryFolder folder;
  const TileGrid grid({50, 800}, {16, 32});
  const Parts parts = test::preallocate(folder.path(), grid, 5);
  TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);
  std::atomic<std::int64_t> next = 0;
  const auto write_tiles = [&] {
    for (std::int64_t number = next++; number < grid.count(); number = next++) {
      const std::vector<float> values = test::tile_values(grid, grid.id(number));
      for (std::int64_t row = 0; row < 16; row += 4) {
        files.write(grid.id(number), row,
                    std::span(values).subspan(static_cast<std::size_t>(row * 32), 4 * 32));
      }
    }
  };

  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back(write_tiles);
    while (next < grid.count())
      files.sync();
  }
  files.sync();

  for (std::int64_t number = 0; number < grid.count(); ++number) {
    std::vector<float> back(16 * 32);
    files.read(grid.id(number), back);
    EXPECT_EQ(back, test::tile_values(grid, grid.id(number))) << number;
  }
}

TEST(TileFiles, KeepsAtMost64FilesOpenAndSyncsEachThatItCloses) {
  const TemporaryFolder folder;
  const TileGrid grid({1, 240}, {1, 1});
  const Parts parts = test::preallocate(folder.path(), grid, 240);
  CountingCalls counting;
  TileFiles files(counting, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);

  for (std::int64_t number = 0; number < grid.count(); ++number) {
    files.write(grid.id(number), 0, test::tile_values(grid, grid.id(number)));
  }
  files.sync();

  EXPECT_EQ(counting.open_most, 64);
  EXPECT_EQ(counting.open_now, 0);
  EXPECT_EQ(counting.syncs, 240);
}

TEST(TileFiles, ReadsPartOfATile) {
  const TemporaryFolder folder;
  const TileGrid grid({8, 8}, {4, 4});
  const Parts parts = test::preallocate(folder.path(), grid, 2);
  test::fill(grid, parts);
  TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kRead);
  std::vector<float> cells(3);

  files.read({1, 1}, cells, 5);

  EXPECT_EQ(cells, test::block_values({5, 6}, {5, 8}));
}

TEST(TileFiles, FailedSyncStaysFailed) {
  const TemporaryFolder folder;
  class FailsOnce final : public ForwardingCalls {
   public:
    int count = 0;
    int fdatasync(int fd) override {
      errno = EIO;
      return ++count == 1 ? -1 : ForwardingCalls::fdatasync(fd);
    }
  } fails_once;
  const TileGrid grid({4, 4}, {4, 4});
  const Parts parts = test::preallocate(folder.path(), grid, 1);
  TileFiles files(fails_once, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);
  files.write({0, 0}, 0, test::tile_values(grid, {0, 0}));

  const auto sync = [&] { files.sync(); };

  expect_error(ExitCode::kIoError, {parts.paths[0]}, sync);
  expect_error(ExitCode::kIoError, {parts.paths[0]}, sync);
}

TEST(TileFiles, FollowsNoLinkInPlaceOfAPart) {
  const TemporaryFolder folder;
  const TileGrid grid({4, 4}, {4, 4});
  const Parts parts = test::plan_parts(folder.path(), grid, 1);
  make_directories(calls, folder / "parts");
  replace_file(calls, folder / "victim", "untouched");
  ASSERT_EQ(symlink("../victim", parts.paths[0].c_str()), 0);
  TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);

  const auto write = [&] { files.write({0, 0}, 0, test::tile_values(grid, {0, 0})); };

  EXPECT_THROW(write(), Error);
  EXPECT_EQ(test::read_file(folder / "victim"), "untouched");
}

}  // namespace
}  // namespace bulksim
