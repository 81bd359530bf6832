#include "core/files/metered_calls.hpp"

#include <utility>

#include "core/files/forwarding_calls.hpp"

namespace bulksim {

namespace {

class MeteredCalls final : public ForwardingCalls {
 public:
  MeteredCalls(FileCalls& calls, std::function<void(PendingWrite)> before_write)
      : ForwardingCalls(calls), before_write_(std::move(before_write)) {}

  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    before_write_({at, static_cast<std::int64_t>(bytes)});
    return ForwardingCalls::pwrite(fd, from, bytes, at);
  }

 private:
  std::function<void(PendingWrite)> before_write_;
};

}  // namespace

std::unique_ptr<FileCalls> metered_calls(FileCalls& calls,
                                         std::function<void(PendingWrite)> before_write) {
  return std::make_unique<MeteredCalls>(calls, std::move(before_write));
}

}  // namespace bulksim
