#include "backend/cuda/bench/cusparse_calls.hpp"

#include <string>

#include <dlfcn.h>

#include "bulksim/core/error.hpp"

namespace bulksim::cuda {

namespace {

constexpr char kLibrary[] = "libcusparse.so.12";

Error unavailable() {
  const char* reason = dlerror();
  return Error(ExitCode::kUnavailable, std::string("cannot load '") + kLibrary +
                                           "': " + (reason == nullptr ? "unknown" : reason));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) throw unavailable();
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

CusparseCalls load_cusparse() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw unavailable();
  CusparseCalls calls{};
  find(library, "cusparseCreate", calls.create);
  find(library, "cusparseDestroy", calls.destroy);
  find(library, "cusparseSetStream", calls.set_stream);
  find(library, "cusparseGetErrorString", calls.error_text);
  find(library, "cusparseCreateCsr", calls.create_csr);
  find(library, "cusparseDestroySpMat", calls.destroy_csr);
  find(library, "cusparseSpMatGetSize", calls.csr_size);
  find(library, "cusparseCsrSetPointers", calls.set_csr);
  find(library, "cusparseCreateDnMat", calls.create_dense);
  find(library, "cusparseDestroyDnMat", calls.destroy_dense);
  find(library, "cusparseSpMM_bufferSize", calls.spmm_bytes);
  find(library, "cusparseSpMM_preprocess", calls.spmm_prepare);
  find(library, "cusparseSpMM", calls.spmm);
  find(library, "cusparseSpGEMM_createDescr", calls.create_spgemm);
  find(library, "cusparseSpGEMM_destroyDescr", calls.destroy_spgemm);
  find(library, "cusparseSpGEMM_workEstimation", calls.spgemm_estimate);
  find(library, "cusparseSpGEMM_compute", calls.spgemm_compute);
  find(library, "cusparseSpGEMM_copy", calls.spgemm_copy);
  return calls;
}

}  // namespace bulksim::cuda
