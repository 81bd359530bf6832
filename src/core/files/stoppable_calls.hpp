#pragma once

#include "core/files/forwarding_calls.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

/// The same calls; a read throws Stopped after a stop request, so that whatever reads an input can
/// be stopped.
class StoppableCalls final : public ForwardingCalls {
 public:
  /// Both must outlive it.
  StoppableCalls(FileCalls& calls, const StopRequest& stop) : ForwardingCalls(calls), stop_(stop) {}

  ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) override {
    stop_.check();
    return ForwardingCalls::pread(fd, to, bytes, at);
  }

 private:
  const StopRequest& stop_;
};

}  // namespace bulksim
