#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files/forwarding_calls.hpp"
#include "support/durable_run.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

const TileGrid kGrid({40, 200}, {4, 8});
constexpr int kRounds = 200;

/// A machine that loses power at its `at`-th call: from then on every call fails, and some of the
/// writes that were not synced are lost, completely or in half, in any order.
class MachineThatFails final : public ForwardingCalls {
 public:
  MachineThatFails(int at, std::uint64_t seed) : at_(at), random_(seed) {}
  ~MachineThatFails() override {
    for (const auto& [inode, fd] : files_)
      ::close(fd);
  }
  MachineThatFails(const MachineThatFails&) = delete;
  MachineThatFails& operator=(const MachineThatFails&) = delete;
  MachineThatFails(MachineThatFails&&) = delete;
  MachineThatFails& operator=(MachineThatFails&&) = delete;

  int count() const { return count_; }

  /// Leaves the disk as it is after the restart of the machine.
  void lose_unsynced() {
    for (auto write = unsynced_.rbegin(); write != unsynced_.rend(); ++write) {
      const std::uint64_t fate = random_.next() % 3;  // kept, lost, torn
      if (fate == 0) continue;
      const std::size_t lost = fate == 1 ? write->before.size() : write->before.size() / 2;
      const std::size_t first = write->before.size() - lost;
      const ssize_t done = ::pwrite(files_[write->inode], write->before.data() + first, lost,
                                    write->at + static_cast<off_t>(first));
      ASSERT_EQ(done, static_cast<ssize_t>(lost));
    }
  }

  int open(const char* path, int flags, mode_t mode) override {
    return dead() ? -1 : ForwardingCalls::open(path, flags, mode);
  }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return dead() ? -1 : ForwardingCalls::pread(fd, to, bytes, at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    if (dead()) return -1;
    const ino_t inode = inode_of(fd);
    Write write{inode, at, std::string(bytes, '\0')};
    if (::pread(files_[inode], write.before.data(), bytes, at) < 0) return -1;
    unsynced_.push_back(std::move(write));
    return ForwardingCalls::pwrite(fd, from, bytes, at);
  }
  int fsync(int fd) override { return dead() ? -1 : synced(fd); }
  int fdatasync(int fd) override { return dead() ? -1 : synced(fd); }
  int mkdir(const char* path, mode_t mode) override {
    return dead() ? -1 : ForwardingCalls::mkdir(path, mode);
  }
  int rmdir(const char* path) override { return dead() ? -1 : ForwardingCalls::rmdir(path); }
  int unlink(const char* path) override { return dead() ? -1 : ForwardingCalls::unlink(path); }
  int link(const char* from, const char* to) override {
    return dead() ? -1 : ForwardingCalls::link(from, to);
  }
  int rename(const char* from, const char* to) override {
    return dead() ? -1 : ForwardingCalls::rename(from, to);
  }
  int symlink(const char* target, const char* path) override {
    return dead() ? -1 : ForwardingCalls::symlink(target, path);
  }

 private:
  struct Write {
    ino_t inode;
    off_t at;
    std::string before;
  };

  bool dead() {
    errno = EIO;
    return ++count_ >= at_;
  }

  /// Keeps the file open after the process closes its own descriptor; returns its inode.
  ino_t inode_of(int fd) {
    struct stat status {};
    ::fstat(fd, &status);
    if (!files_.contains(status.st_ino)) {
      files_[status.st_ino] = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR);
    }
    return status.st_ino;
  }

  int synced(int fd) {
    struct stat status {};
    ::fstat(fd, &status);
    std::erase_if(unsynced_, [&](const Write& write) { return write.inode == status.st_ino; });
    return 0;  // does not call the real fsync, so that rounds are short
  }

  int at_;
  int count_ = 0;
  Random random_;
  std::map<ino_t, int> files_;
  std::vector<Write> unsynced_;
};

std::map<std::string, std::string> published_files(const std::string& output) {
  std::map<std::string, std::string> files;
  const auto version = std::filesystem::canonical(output + "/CURRENT");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(version)) {
    if (entry.is_regular_file()) {
      files[std::filesystem::relative(entry.path(), version).string()] = read_file(entry.path());
    }
  }
  return files;
}

std::uint64_t seed() {
  const char* given = std::getenv("BULKSIM_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261129;
}

TEST(NodeCrash, TheSameCommandProducesTheSameBytesAfterAnyPowerFailure) {
  if (access("/dev/shm", W_OK) == 0) setenv("TEST_TMPDIR", "/dev/shm", 0);
  const TemporaryFolder folder;
  MachineThatFails unharmed(1 << 30, 0);
  DurableRun{unharmed, kGrid, 16}.compute_version(folder / "reference");
  const auto reference = published_files(folder / "reference");
  Random random(seed());
  std::int64_t recovered = 0;
  int failed = 0;

  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", round " + std::to_string(round));
    const std::string output = folder / ("out" + std::to_string(round));
    MachineThatFails failing(1 + static_cast<int>(random.below(unharmed.count())), random.next());
    try {
      DurableRun{failing, kGrid, 16}.compute_version(output);
    } catch (const Error&) {
      ++failed;  // failures of the last calls of a run, which release its lease, are ignored
    }
    failing.lose_unsynced();
    MachineThatFails working(1 << 30, 0);
    DurableRun again{working, kGrid, 16};
    again.compute_version(output);
    recovered += again.recovered;
    ASSERT_EQ(published_files(output), reference);
    std::filesystem::remove_all(output);
  }

  EXPECT_GT(failed, kRounds * 9 / 10);
  EXPECT_GT(recovered, kRounds * kGrid.count() / 4);
}

}  // namespace
}  // namespace bulksim::test
