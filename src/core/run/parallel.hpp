#pragma once

#include <cstdint>
#include <functional>

namespace bulksim {

/// Calls task(0) to task(count - 1), each once, on up to `threads` threads, of which the calling
/// one is the first. After an exception no further task begins, and it is rethrown here.
void run_in_parallel(std::int64_t count, int threads,
                     const std::function<void(std::int64_t)>& task);

}  // namespace bulksim
