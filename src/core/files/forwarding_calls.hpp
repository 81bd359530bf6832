#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Forwards every call to another FileCalls; derived classes override individual calls.
class ForwardingCalls : public FileCalls {
 public:
  explicit ForwardingCalls(FileCalls& calls = system_file_calls()) : calls_(calls) {}

  int open(const char* path, int flags, mode_t mode) override {
    return calls_.open(path, flags, mode);
  }
  int close(int fd) override { return calls_.close(fd); }
  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    return calls_.pread(fd, to, bytes, at);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    return calls_.pwrite(fd, from, bytes, at);
  }
  int fsync(int fd) override { return calls_.fsync(fd); }
  int fdatasync(int fd) override { return calls_.fdatasync(fd); }
  int fallocate(int fd, off_t at, off_t bytes) override { return calls_.fallocate(fd, at, bytes); }
  int fstat(int fd, struct stat* out) override { return calls_.fstat(fd, out); }
  int lstat(const char* path, struct stat* out) override { return calls_.lstat(path, out); }
  int mkdir(const char* path, mode_t mode) override { return calls_.mkdir(path, mode); }
  int rmdir(const char* path) override { return calls_.rmdir(path); }
  int unlink(const char* path) override { return calls_.unlink(path); }
  int link(const char* from, const char* to) override { return calls_.link(from, to); }
  int rename(const char* from, const char* to) override { return calls_.rename(from, to); }
  int symlink(const char* target, const char* path) override {
    return calls_.symlink(target, path);
  }
  ssize_t readlink(const char* path, char* to, std::size_t bytes) override {
    return calls_.readlink(path, to, bytes);
  }
  int chmod(const char* path, mode_t mode) override { return calls_.chmod(path, mode); }
  std::vector<std::string> list(const char* path) override { return calls_.list(path); }
  std::int64_t free_bytes(const char* path) override { return calls_.free_bytes(path); }

 protected:
  FileCalls& calls() { return calls_; }

 private:
  FileCalls& calls_;
};

}  // namespace bulksim
