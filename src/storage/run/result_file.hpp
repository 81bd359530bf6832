#pragma once

#include <string>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether the file is the finished result of a plan.
bool holds_result_of(FileCalls& calls, const std::string& path, const Digest& plan);

/// A file in the place of the output may be replaced when it is an earlier result; throws Error
/// (73) when it is anything else.
void require_replaceable(FileCalls& calls, const std::string& path);

}  // namespace bulksim
