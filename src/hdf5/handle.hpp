#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include <hdf5.h>

#include "bulksim/core/error.hpp"

namespace bulksim::h5 {

/// Throws Error "cannot <action>: <innermost HDF5 error>" when `status`, the result of the
/// preceding HDF5 call, is negative. A system error in the HDF5 error takes its place, or else
/// `error_number`, where it is known.
void check(std::int64_t status, const std::string& action, ExitCode code = ExitCode::kIoError,
           int error_number = 0);

/// Owns an HDF5 identifier and closes it with `Close`.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle(hid_t id, const std::string& action, ExitCode code = ExitCode::kIoError) : id_(id) {
    check(id, action, code);
  }
  ~Handle() {
    if (id_ >= 0) Close(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }

  hid_t get() const { return id_; }
  /// Closes the identifier and throws on failure; the destructor ignores failures.
  void close(const std::string& action) {
    errno = 0;  // which the driver that writes files leaves behind, and does not report
    const herr_t status = Close(std::exchange(id_, -1));
    check(status, action, ExitCode::kIoError, errno);
  }

 private:
  hid_t id_;
};

using File = Handle<H5Fclose>;
using Dataset = Handle<H5Dclose>;
using Dataspace = Handle<H5Sclose>;
using Datatype = Handle<H5Tclose>;
using Attribute = Handle<H5Aclose>;
using PropertyList = Handle<H5Pclose>;

}  // namespace bulksim::h5
