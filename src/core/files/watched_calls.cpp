#include "core/files/watched_calls.hpp"

namespace bulksim {

namespace {

class WatchedCalls final : public FileCalls {
 public:
  WatchedCalls(FileCalls& calls, Watchdog& watchdog) : calls_(calls), watchdog_(watchdog) {}

  int open(const char* path, int flags, mode_t mode) override {
    const Watch watch = on(Activity::kRead, "open", path);
    return calls_.open(path, flags, mode);
  }
  int close(int fd) override {
    const Watch watch = on(Activity::kWrite, "close", fd);
    return calls_.close(fd);
  }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    const Watch watch = on(Activity::kRead, "pread", fd);
    return calls_.pread(fd, to, bytes, at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    const Watch watch = on(Activity::kWrite, "pwrite", fd);
    return calls_.pwrite(fd, from, bytes, at);
  }
  int fsync(int fd) override {
    const Watch watch = on(Activity::kWrite, "fsync", fd);
    return calls_.fsync(fd);
  }
  int fdatasync(int fd) override {
    const Watch watch = on(Activity::kWrite, "fdatasync", fd);
    return calls_.fdatasync(fd);
  }
  int fallocate(int fd, off_t at, off_t bytes) override {
    const Watch watch = on(Activity::kWrite, "fallocate", fd);
    return calls_.fallocate(fd, at, bytes);
  }
  int fstat(int fd, struct stat* out) override {
    const Watch watch = on(Activity::kRead, "fstat", fd);
    return calls_.fstat(fd, out);
  }
  int lstat(const char* path, struct stat* out) override {
    const Watch watch = on(Activity::kRead, "lstat", path);
    return calls_.lstat(path, out);
  }
  int mkdir(const char* path, mode_t mode) override {
    const Watch watch = on(Activity::kWrite, "mkdir", path);
    return calls_.mkdir(path, mode);
  }
  int rmdir(const char* path) override {
    const Watch watch = on(Activity::kWrite, "rmdir", path);
    return calls_.rmdir(path);
  }
  int unlink(const char* path) override {
    const Watch watch = on(Activity::kWrite, "unlink", path);
    return calls_.unlink(path);
  }
  int link(const char* from, const char* to) override {
    const Watch watch = on(Activity::kWrite, "link", to);
    return calls_.link(from, to);
  }
  int rename(const char* from, const char* to) override {
    const Watch watch = on(Activity::kWrite, "rename", to);
    return calls_.rename(from, to);
  }
  int symlink(const char* target, const char* path) override {
    const Watch watch = on(Activity::kWrite, "symlink", path);
    return calls_.symlink(target, path);
  }
  ssize_t readlink(const char* path, char* to, std::size_t bytes) override {
    const Watch watch = on(Activity::kRead, "readlink", path);
    return calls_.readlink(path, to, bytes);
  }
  int chmod(const char* path, mode_t mode) override {
    const Watch watch = on(Activity::kWrite, "chmod", path);
    return calls_.chmod(path, mode);
  }
  std::vector<std::string> list(const char* path) override {
    const Watch watch = on(Activity::kRead, "list", path);
    return calls_.list(path);
  }
  std::int64_t free_bytes(const char* path) override {
    const Watch watch = on(Activity::kRead, "statvfs", path);
    return calls_.free_bytes(path);
  }

 private:
  using Watch = Watchdog::Watch;

  Watch on(Activity activity, const char* call, const char* path) {
    return Watch(&watchdog_, {activity, call, path});
  }
  Watch on(Activity activity, const char* call, int fd) {
    return Watch(&watchdog_, {activity, call, {}, fd});
  }

  FileCalls& calls_;
  Watchdog& watchdog_;
};

}  // namespace

std::unique_ptr<FileCalls> make_watched_calls(FileCalls& calls, Watchdog& watchdog) {
  return std::make_unique<WatchedCalls>(calls, watchdog);
}

}  // namespace bulksim
