#pragma once

#include <string>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether the file is the finished result of `plan`.
bool holds_result_of(FileCalls& calls, const std::string& path, const Digest& plan);

/// What may be replaced by a new file.
enum class Overwrite {
  kResults,  ///< results of bulksim
  kAnyFile,
};

/// Throws Error (73) unless `path` can be replaced: it does not exist, or it is a file of the kind
/// that may be.
void require_replaceable(FileCalls& calls, const std::string& path, Overwrite overwrite);

}  // namespace bulksim
