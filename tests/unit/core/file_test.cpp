#include "bulksim/core/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files/forwarding_calls.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::TemporaryFolder;

FileCalls& calls = system_file_calls();

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

/// Transfers at most three bytes per call, and interrupts every second call.
class HaltingCalls final : public ForwardingCalls {
 public:
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return interrupted() ? -1 : ForwardingCalls::pread(fd, to, std::min<std::size_t>(bytes, 3), at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    return interrupted() ? -1
                         : ForwardingCalls::pwrite(fd, from, std::min<std::size_t>(bytes, 3), at);
  }

 private:
  bool interrupted() {
    errno = EINTR;
    return ++count_ % 2 == 1;
  }

  int count_ = 0;
};

TEST(File, CompletesShortAndInterruptedTransfers) {
  const TemporaryFolder folder;
  HaltingCalls halting;
  const File file = File::open(halting, folder / "f", O_RDWR | O_CREAT, 0600);
  std::array<char, 13> back{};

  file.write(bytes_in("thirteen byte"), 5);
  file.read(std::as_writable_bytes(std::span(back)), 5);

  EXPECT_EQ(std::string(back.data(), back.size()), "thirteen byte");
  EXPECT_EQ(read_text(halting, folder / "f"), std::string(5, '\0') + "thirteen byte");
}

TEST(File, ReadBeyondTheEndIsADataErrorWithTheFile) {
  const TemporaryFolder folder;
  replace_file(calls, folder / "short", "abc");
  const File file = File::open(calls, folder / "short", O_RDONLY);
  std::array<std::byte, 8> to{};

  const auto read = [&] { file.read(to, 0); };

  expect_error(ExitCode::kDataError, {folder / "short", "is truncated", "byte 3", "8 bytes"}, read);
}

TEST(File, MissingFileAndMissingPermissionHaveTheirOwnCodes) {
  const TemporaryFolder folder;
  class Refusing final : public ForwardingCalls {
    int open(const char*, int, mode_t) override {
      errno = EACCES;
      return -1;
    }
  } refusing;

  const auto open_missing = [&] { File::open(calls, folder / "none", O_RDONLY); };
  const auto open_refused = [&] { File::open(refusing, folder / "none", O_RDONLY); };

  expect_error(ExitCode::kNoInput, {folder / "none"}, open_missing);
  expect_error(ExitCode::kNoPermission, {folder / "none"}, open_refused);
}

TEST(File, ReserveReportsMissingSupportAndFailsOnAFullDisk) {
  const TemporaryFolder folder;
  class Failing final : public ForwardingCalls {
   public:
    int reason = EOPNOTSUPP;
    int fallocate(int, off_t, off_t) override {
      errno = reason;
      return -1;
    }
  } failing;
  const File file = File::open(failing, folder / "f", O_RDWR | O_CREAT, 0600);

  const bool reserved = file.reserve(0, 4096);
  failing.reason = ENOSPC;
  const auto reserve_on_full_disk = [&] { file.reserve(0, 4096); };

  EXPECT_FALSE(reserved);
  expect_error(ExitCode::kIoError, {folder / "f", "4096"}, reserve_on_full_disk);
}

TEST(ReplaceFile, KeepsTheOldContentWhenItFails) {
  const TemporaryFolder folder;
  class NoSync final : public ForwardingCalls {
    int fsync(int) override {
      errno = EIO;
      return -1;
    }
  } no_sync;
  replace_file(calls, folder / "f", "old");

  const auto replace = [&] { replace_file(no_sync, folder / "f", "new"); };

  expect_error(ExitCode::kIoError, {folder / "f"}, replace);
  EXPECT_EQ(test::read_file(folder / "f"), "old");
}

TEST(ReplaceFile, DoesNotFollowLinksInItsWay) {
  const TemporaryFolder folder;
  replace_file(calls, folder / "victim", "untouched");
  ASSERT_EQ(symlink("victim", (folder / ".f.staged").c_str()), 0);
  ASSERT_EQ(symlink("victim", (folder / "f").c_str()), 0);

  replace_file(calls, folder / "f", "new");

  EXPECT_EQ(test::read_file(folder / "f"), "new");
  EXPECT_EQ(test::read_file(folder / "victim"), "untouched");
  EXPECT_EQ(list_directory(calls, folder.path()), (std::vector<std::string>{"f", "victim"}));
}

TEST(CreateFile, RefusesAnExistingName) {
  const TemporaryFolder folder;
  create_file(calls, folder / "f", "first");

  const auto create_again = [&] { create_file(calls, folder / "f", "second"); };

  expect_error(ExitCode::kCannotCreate, {folder / "f", "already exists"}, create_again);
  EXPECT_EQ(test::read_file(folder / "f"), "first");
}

TEST(CreateFile, TrustsTheLinkCountWhenLinkReportsFailureAfterSuccess) {
  const TemporaryFolder folder;
  class ReplayedLink final : public ForwardingCalls {
    int link(const char* from, const char* to) override {
      ForwardingCalls::link(from, to);
      errno = EEXIST;
      return -1;
    }
  } replayed;

  create_file(replayed, folder / "f", "content");

  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"f"});
  EXPECT_EQ(test::read_file(folder / "f"), "content");
}

TEST(MakeDirectories, CreatesMissingParentsAndAcceptsExistingFolders) {
  const TemporaryFolder folder;

  make_directories(calls, folder / "a/b/c");
  make_directories(calls, folder / "a/b/c");

  EXPECT_TRUE(is_directory(calls, folder / "a/b/c"));
}

TEST(MakeDirectories, RefusesAFileInTheWay) {
  const TemporaryFolder folder;
  replace_file(calls, folder / "file", "");

  const auto over_a_file = [&] { make_directories(calls, folder / "file"); };
  const auto below_a_file = [&] { make_directories(calls, folder / "file/below"); };

  expect_error(ExitCode::kCannotCreate, {folder / "file"}, over_a_file);
  expect_error(ExitCode::kCannotCreate, {folder / "file"}, below_a_file);
}

TEST(RemoveTree, RemovesLinksButNotTheirTargets) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "canary");
  replace_file(calls, folder / "canary/file", "alive");
  make_directories(calls, folder / "tree/deep/deeper");
  replace_file(calls, folder / "tree/deep/deeper/file", "gone");
  ASSERT_EQ(symlink("../../canary", (folder / "tree/deep/link").c_str()), 0);
  ASSERT_EQ(symlink("../canary/file", (folder / "tree/file-link").c_str()), 0);

  remove_tree(calls, folder / "tree");
  remove_tree(calls, folder / "tree");

  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"canary"});
  EXPECT_EQ(test::read_file(folder / "canary/file"), "alive");
}

TEST(RemoveTree, NeverEntersAFolderThatBecameALink) {
  const TemporaryFolder folder;
  class Swapping final : public ForwardingCalls {
   public:
    std::string inner;
    std::string canary;
    int lstat(const char* path, struct stat* out) override {
      const int result = ForwardingCalls::lstat(path, out);
      if (std::string(path).ends_with("/inner")) {
        ForwardingCalls::rmdir(inner.c_str());
        ForwardingCalls::symlink(canary.c_str(), inner.c_str());
      }
      return result;
    }
  } swapping;
  make_directories(calls, folder / "canary");
  replace_file(calls, folder / "canary/file", "alive");
  make_directories(calls, folder / "tree/inner");
  swapping.inner = folder / "tree/inner";
  swapping.canary = folder / "canary";

  const auto remove = [&] { remove_tree(swapping, folder / "tree"); };

  EXPECT_THROW(remove(), Error);
  EXPECT_EQ(test::read_file(folder / "canary/file"), "alive");
}

TEST(RealPath, ResolvesEveryLink) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "there");
  replace_file(calls, folder / "there/file", "");
  ASSERT_EQ(symlink("there", (folder / "here").c_str()), 0);
  const std::string root = real_path(calls, folder.path());

  const std::string path = real_path(calls, folder / "here/file");

  EXPECT_EQ(path, root + "/there/file");
}

TEST(ListDirectory, ThrowsForAMissingFolderAndIsEmptyForAnEmptyOne) {
  const TemporaryFolder folder;

  const auto list_missing = [&] { list_directory(calls, folder / "none"); };

  EXPECT_TRUE(list_directory(calls, folder.path()).empty());
  expect_error(ExitCode::kNoInput, {folder / "none"}, list_missing);
}

}  // namespace
}  // namespace bulksim
