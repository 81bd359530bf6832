#include <algorithm>
#include <memory>
#include <string>

#include <dlfcn.h>

#include "bulksim/backend/cuda_backend.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

/// The one function of the module.
using Factory = SimilarityBackend* (*)(const CudaBackendOptions& options);
constexpr char kFactory[] = "bulksim_make_cuda_backend";

Error unavailable(const std::string& module) {
  const char* reason = dlerror();
  return {ExitCode::kUnavailable, "cannot load '" + module +
                                      "': " + (reason == nullptr ? "unknown reason" : reason) +
                                      " (run with --backend cpu, or install the CUDA libraries)"};
}

}  // namespace

std::unique_ptr<SimilarityBackend> make_cuda_backend(const CudaBackendOptions& options) {
  // stays loaded as long as the process: the backend's code is in it
  void* const module = dlopen(options.module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw unavailable(options.module);
  void* const symbol = dlsym(module, kFactory);
  if (symbol == nullptr) throw unavailable(options.module);
  return std::unique_ptr<SimilarityBackend>(reinterpret_cast<Factory>(symbol)(options));
}

std::int64_t cuda_backend_host_bytes(const CudaBackendOptions& options, std::int64_t chunk_nnz) {
  const std::int64_t tiles =
      options.pinned_tiles * options.grid.tile().cells() * std::int64_t{sizeof(float)};
  const std::int64_t rows = std::max(options.slice_items, options.grid.tile().items) + 1;
  return tiles + 2 * (rows * std::int64_t{sizeof(std::int64_t)} +
                      chunk_nnz * std::int64_t{sizeof(Column) + sizeof(std::int32_t)});
}

}  // namespace bulksim
