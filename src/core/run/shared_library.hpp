#pragma once

#include <string>
#include <utility>

#include <dlfcn.h>

#include "bulksim/core/error.hpp"

namespace bulksim {

/// A library loaded at run time. It is never unloaded, since its functions may be running on any
/// thread.
class SharedLibrary {
 public:
  /// `name` is a path, or a file name in the library search path. Throws Error (69) with the
  /// loader's message.
  explicit SharedLibrary(std::string name)
      : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) refuse();
  }

  /// Finds a C function; throws Error (69) when there is no function of that name.
  template <class Function>
  void find(const char* symbol, Function& function) const {
    void* const address = dlsym(handle_, symbol);
    if (address == nullptr) refuse();
    function = reinterpret_cast<Function>(address);
  }

 private:
  [[noreturn]] void refuse() const {
    const char* reason = dlerror();
    throw Error(ExitCode::kUnavailable,
                "cannot load '" + name_ + "': " + (reason == nullptr ? "unknown reason" : reason));
  }

  std::string name_;
  void* handle_;
};

}  // namespace bulksim
