#pragma once

#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// The file of a result: `path` itself, or similarity.h5 of the newest or this version. Throws
/// Error (66) when there is none.
std::string find_result(FileCalls& calls, const std::string& path);

}  // namespace bulksim
