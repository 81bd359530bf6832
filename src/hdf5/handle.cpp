#include "hdf5/handle.hpp"

namespace bulksim::h5 {

namespace {

herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* reason) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

}  // namespace

void check(std::int64_t status, const std::string& action, ExitCode code) {
  if (status >= 0) return;
  std::string reason = "HDF5 gives no reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw Error(code, "cannot " + action + ": " + reason);
}

}  // namespace bulksim::h5
