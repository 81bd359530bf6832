#pragma once

#include <string>

#include "bulksim/core/error.hpp"

namespace bulksim {

/// Error for a damaged file of a result; `what` follows its path in the sentence.
inline Error damaged(const std::string& path, const std::string& what) {
  return Error(ExitCode::kDataError, "'" + path + "' " + what + ": the result is damaged");
}

}  // namespace bulksim
