#include "core/files/unsynced_calls.hpp"

#include "core/files/forwarding_calls.hpp"

namespace bulksim {

namespace {

class UnsyncedCalls final : public ForwardingCalls {
 public:
  using ForwardingCalls::ForwardingCalls;

  int fsync(int /*fd*/) override { return 0; }
  int fdatasync(int /*fd*/) override { return 0; }
};

}  // namespace

std::unique_ptr<FileCalls> without_sync(FileCalls& calls) {
  return std::make_unique<UnsyncedCalls>(calls);
}

}  // namespace bulksim
