#include "bulksim/core/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bulksim {

namespace {

ExitCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
      return ExitCode::kNoInput;
    case EACCES:
    case EPERM:
    case EROFS:
      return ExitCode::kNoPermission;
    default:
      return ExitCode::kIoError;
  }
}

}  // namespace

Error system_error(const std::string& action, const std::string& path, int error_number) {
  return Error(code_of(error_number),
               "cannot " + action + " '" + path + "': " + std::strerror(error_number),
               error_number);
}

namespace detail {

void contract_broken(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "bulksim: broken contract '%s' at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace detail

Error in_the_way(const std::string& path, const std::string& what) {
  std::string sentence = "'";
  sentence += path;
  sentence += "' " + what + ": remove it, or choose another path";
  return Error(ExitCode::kCannotCreate, sentence);
}

}  // namespace bulksim
