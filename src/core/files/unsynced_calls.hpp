#pragma once

#include <memory>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// The same calls, but fsync and fdatasync do nothing: for runs that may be lost with the machine,
/// and to measure what durability costs. `calls` must outlive what is returned.
std::unique_ptr<FileCalls> without_sync(FileCalls& calls);

}  // namespace bulksim
