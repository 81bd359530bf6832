#pragma once

#include <memory>

#include "bulksim/core/file.hpp"
#include "core/run/watchdog.hpp"

namespace bulksim {

/// The same calls, each watched by `watchdog`. Both arguments must outlive the result.
std::unique_ptr<FileCalls> make_watched_calls(FileCalls& calls, Watchdog& watchdog);

}  // namespace bulksim
