#pragma once

#include <memory>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// The same calls without fsync and fdatasync: for runs that need not survive a machine crash, and
/// to measure the cost of durability. `calls` must outlive the result.
std::unique_ptr<FileCalls> without_sync(FileCalls& calls);

}  // namespace bulksim
