#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include "bulksim/core/error.hpp"

namespace bulksim::cuda {

/// Source location of a CUDA runtime call.
struct Place {
  const char* file;
  int line;

  static Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// A failed CUDA runtime call. Out of memory is 71, everything else 69. This process does not use a
/// device again after it has failed.
class CallError : public Error {
 public:
  CallError(cudaError_t status, const std::string& action, Place where)
      : Error(status == cudaErrorMemoryAllocation ? ExitCode::kMemory : ExitCode::kUnavailable,
              sentence(status, action, where)),
        status_(status) {}

  cudaError_t status() const { return status_; }

 private:
  static std::string sentence(cudaError_t status, const std::string& action, Place where) {
    const std::string file = where.file;
    return "cannot " + action + ": " + cudaGetErrorString(status) + " (" +
           cudaGetErrorName(status) + ", " + std::to_string(static_cast<int>(status)) + ") [" +
           file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line) + "]";
  }

  cudaError_t status_;
};

/// Throws CallError unless `status` is success. `action` completes "cannot ...".
inline void check(cudaError_t status, const char* action, Place where = Place::here()) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clear it, or the next launch reports it
  throw CallError(status, action, where);
}

/// Checks the launch just made.
inline void check_launch(const char* kernel, Place where = Place::here()) {
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
    throw CallError(status, std::string("launch ") + kernel, where);
  }
}

}  // namespace bulksim::cuda
