#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Bytes that are about to be written to a file.
struct PendingWrite {
  std::int64_t at = 0;
  std::int64_t bytes = 0;

  std::int64_t end() const { return at + bytes; }
};

/// File calls that call `before_write` before each write, whose exceptions prevent it. `calls` must
/// outlive them.
std::unique_ptr<FileCalls> metered_calls(FileCalls& calls,
                                         std::function<void(PendingWrite)> before_write);

}  // namespace bulksim
