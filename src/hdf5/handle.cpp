#include "hdf5/handle.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

namespace bulksim::h5 {

namespace {

herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* reason) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

/// The errno in an HDF5 error message, or 0.
int error_number_in(const std::string& reason) {
  constexpr std::string_view kMark = "errno = ";
  const auto at = reason.find(kMark);
  if (at == std::string::npos) return 0;
  int number = 0;  // stays 0 when no number follows
  std::from_chars(reason.data() + at + kMark.size(), reason.data() + reason.size(), number);
  return number;
}

}  // namespace

void check(std::int64_t status, const std::string& action, ExitCode code, int error_number) {
  if (status >= 0) return;
  std::string reason = "HDF5 gives no reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  const int found = error_number_in(reason);
  const int number = found != 0 ? found : error_number;
  if (number == 0) throw Error(code, "cannot " + action + ": " + reason);
  const ExitCode of_system = system_error(action, "", number).code();
  throw Error(of_system == ExitCode::kNoPermission ? of_system : code,
              "cannot " + action + ": " + std::strerror(number), number);
}

}  // namespace bulksim::h5
