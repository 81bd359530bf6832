#pragma once

#include <string>
#include <vector>

namespace bulksim {

/// The last kernel message that contains all of `words`; empty when there is none or the log at
/// `path` cannot be read.
std::string last_kernel_message(const std::vector<std::string>& words,
                                const std::string& path = "/dev/kmsg");

}  // namespace bulksim
