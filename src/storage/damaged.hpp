#pragma once

#include <string>

#include "bulksim/core/error.hpp"

namespace bulksim {

/// What to throw for a file of a result that is not as it was written; `what` goes on after its
/// path.
inline Error damaged(const std::string& path, const std::string& what) {
  return Error(ExitCode::kDataError, "'" + path + "' " + what + ": the result is damaged");
}

}  // namespace bulksim
