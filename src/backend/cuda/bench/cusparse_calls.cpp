#include "backend/cuda/bench/cusparse_calls.hpp"

#include "core/run/shared_library.hpp"

namespace bulksim::cuda {

CusparseCalls load_cusparse() {
  const SharedLibrary library("libcusparse.so.12");
  CusparseCalls calls{};
  library.find("cusparseCreate", calls.create);
  library.find("cusparseDestroy", calls.destroy);
  library.find("cusparseSetStream", calls.set_stream);
  library.find("cusparseGetErrorString", calls.error_text);
  library.find("cusparseCreateCsr", calls.create_csr);
  library.find("cusparseDestroySpMat", calls.destroy_csr);
  library.find("cusparseSpMatGetSize", calls.csr_size);
  library.find("cusparseCsrSetPointers", calls.set_csr);
  library.find("cusparseCreateDnMat", calls.create_dense);
  library.find("cusparseDestroyDnMat", calls.destroy_dense);
  library.find("cusparseSpMM_bufferSize", calls.spmm_bytes);
  library.find("cusparseSpMM_preprocess", calls.spmm_prepare);
  library.find("cusparseSpMM", calls.spmm);
  library.find("cusparseSpGEMM_createDescr", calls.create_spgemm);
  library.find("cusparseSpGEMM_destroyDescr", calls.destroy_spgemm);
  library.find("cusparseSpGEMM_workEstimation", calls.spgemm_estimate);
  library.find("cusparseSpGEMM_compute", calls.spgemm_compute);
  library.find("cusparseSpGEMM_copy", calls.spgemm_copy);
  return calls;
}

}  // namespace bulksim::cuda
