#pragma once

#include <stdexcept>
#include <string>

namespace bulksim {

/// Exit status of the process, from sysexits.h where one fits.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,         ///< an option is wrong
  kDataError = 65,     ///< an input or a result is damaged
  kNoInput = 66,       ///< an input is missing
  kUnavailable = 69,   ///< device, peer rank or deadline
  kSoftware = 70,      ///< the program or the hardware computed something wrong
  kMemory = 71,        ///< not enough memory
  kCannotCreate = 73,  ///< the output is in use or not an output of bulksim
  kIoError = 74,       ///< reading or writing failed, or the disk is full
  kTemporary = 75,     ///< stopped on request, or an input changed: run again
  kNoPermission = 77,  ///< permission denied
  kConfig = 78,        ///< configuration file, or the launcher of another MPI
};

/// The only exception type of the program: a sentence (what is wrong, where, what to do) and an
/// exit code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence, int error_number = 0)
      : std::runtime_error(sentence), code_(code), error_number_(error_number) {}

  ExitCode code() const { return code_; }
  /// errno of the failed system call, or 0.
  int error_number() const { return error_number_; }

 private:
  ExitCode code_;
  int error_number_;
};

/// The error of a failed system call: "cannot <action> '<path>': <strerror>", with the exit code
/// for `error_number` (no permission 77, not found 66, otherwise 74).
Error system_error(const std::string& action, const std::string& path, int error_number);

namespace detail {
[[noreturn]] void contract_broken(const char* condition, const char* file, int line);
}  // namespace detail

/// Error (73): "'<path>' <what>: remove it, or choose another path".
Error in_the_way(const std::string& path, const std::string& what);

}  // namespace bulksim

/// States a precondition. Checked in debug builds only: a failure is a bug in the program.
#ifdef NDEBUG
#define BULKSIM_EXPECT(condition) static_cast<void>(sizeof(condition))
#else
#define BULKSIM_EXPECT(condition)     \
  ((condition) ? static_cast<void>(0) \
               : ::bulksim::detail::contract_broken(#condition, __FILE__, __LINE__))
#endif
