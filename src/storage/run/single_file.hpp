#pragma once

#include <string>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether the file is the finished result of `plan`.
bool holds_result_of(FileCalls& calls, const std::string& path, const Digest& plan);

/// Throws Error (73) unless `path` can be replaced by a result: it does not exist, or it is an
/// earlier result.
void require_replaceable(FileCalls& calls, const std::string& path);

}  // namespace bulksim
