#pragma once

#include <cerrno>
#include <cstdint>
#include <limits>
#include <mutex>

#include "core/files/forwarding_calls.hpp"

namespace bulksim::test {

/// A disk that is full after some bytes, or fails to sync.
class FailingDisk final : public ForwardingCalls {
 public:
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  int failing_syncs = 0;

  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    const std::lock_guard lock(mutex_);
    room -= static_cast<std::int64_t>(bytes);
    if (room >= 0) return ForwardingCalls::pwrite(fd, from, bytes, at);
    errno = ENOSPC;
    return -1;
  }
  int fdatasync(int fd) override {
    const std::lock_guard lock(mutex_);
    if (failing_syncs == 0) return ForwardingCalls::fdatasync(fd);
    --failing_syncs;
    errno = EIO;
    return -1;
  }

 private:
  std::mutex mutex_;
};

}  // namespace bulksim::test
