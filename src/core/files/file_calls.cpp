#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bulksim/core/file.hpp"

namespace bulksim {

namespace {

class SystemFileCalls final : public FileCalls {
 public:
  int open(const char* path, int flags, mode_t mode) override { return ::open(path, flags, mode); }
  int close(int fd) override { return ::close(fd); }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return ::pread(fd, to, bytes, at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    return ::pwrite(fd, from, bytes, at);
  }
  int fsync(int fd) override { return ::fsync(fd); }
  int fdatasync(int fd) override { return ::fdatasync(fd); }
  // Not posix_fallocate, which writes every block where the file system does not support fallocate.
  int fallocate(int fd, off_t at, off_t bytes) override { return ::fallocate(fd, 0, at, bytes); }
  int fstat(int fd, struct stat* out) override { return ::fstat(fd, out); }
  int lstat(const char* path, struct stat* out) override { return ::lstat(path, out); }
  int mkdir(const char* path, mode_t mode) override { return ::mkdir(path, mode); }
  int rmdir(const char* path) override { return ::rmdir(path); }
  int unlink(const char* path) override { return ::unlink(path); }
  int link(const char* from, const char* to) override {
    const bool is_open = std::string_view(from).starts_with("/proc/self/fd/");
    return ::linkat(AT_FDCWD, from, AT_FDCWD, to, is_open ? AT_SYMLINK_FOLLOW : 0);
  }
  int rename(const char* from, const char* to) override { return std::rename(from, to); }
  int symlink(const char* target, const char* path) override { return ::symlink(target, path); }
  ssize_t readlink(const char* path, char* to, std::size_t bytes) override {
    return ::readlink(path, to, bytes);
  }
  int chmod(const char* path, mode_t mode) override { return ::chmod(path, mode); }

  std::vector<std::string> list(const char* path) override {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path), ::closedir);
    if (!folder) return names;
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) names.clear();
    std::sort(names.begin(), names.end());
    return names;
  }

  std::int64_t free_bytes(const char* path) override {
    struct statvfs status {};
    if (::statvfs(path, &status) == -1) return -1;
    return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
  }
};

}  // namespace

FileCalls& system_file_calls() {
  static SystemFileCalls calls;
  return calls;
}

mode_t process_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace bulksim
