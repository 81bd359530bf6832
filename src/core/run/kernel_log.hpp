#pragma once

#include <string>
#include <vector>

namespace bulksim {

/// The last message of the kernel that holds every one of `words`; empty when there is none or the
/// log may not be read. `path` is the log's.
std::string last_kernel_message(const std::vector<std::string>& words,
                                const std::string& path = "/dev/kmsg");

}  // namespace bulksim
