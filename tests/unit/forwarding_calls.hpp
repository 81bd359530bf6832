#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim::test {

/// Passes every call on to the system; a test overrides those that shall fail.
class ForwardingCalls : public FileCalls {
 public:
  int open(const char* path, int flags, mode_t mode) override {
    return system_.open(path, flags, mode);
  }
  int close(int fd) override { return system_.close(fd); }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return system_.pread(fd, to, bytes, at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    return system_.pwrite(fd, from, bytes, at);
  }
  int fsync(int fd) override { return system_.fsync(fd); }
  int fdatasync(int fd) override { return system_.fdatasync(fd); }
  int fallocate(int fd, off_t at, off_t bytes) override { return system_.fallocate(fd, at, bytes); }
  int fstat(int fd, struct stat* out) override { return system_.fstat(fd, out); }
  int lstat(const char* path, struct stat* out) override { return system_.lstat(path, out); }
  int mkdir(const char* path, mode_t mode) override { return system_.mkdir(path, mode); }
  int rmdir(const char* path) override { return system_.rmdir(path); }
  int unlink(const char* path) override { return system_.unlink(path); }
  int link(const char* from, const char* to) override { return system_.link(from, to); }
  int rename(const char* from, const char* to) override { return system_.rename(from, to); }
  int symlink(const char* target, const char* path) override {
    return system_.symlink(target, path);
  }
  ssize_t readlink(const char* path, char* to, std::size_t bytes) override {
    return system_.readlink(path, to, bytes);
  }
  int chmod(const char* path, mode_t mode) override { return system_.chmod(path, mode); }
  std::vector<std::string> list(const char* path) override { return system_.list(path); }
  std::int64_t free_bytes(const char* path) override { return system_.free_bytes(path); }

 private:
  FileCalls& system_ = system_file_calls();
};

}  // namespace bulksim::test
