#pragma once

#include <cusparse.h>

namespace bulksim::cuda {

/// The functions of cuSPARSE that the baselines call: from the library, or from a test.
struct CusparseCalls {
  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseGetErrorString) error_text;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseDestroySpMat) destroy_csr;
  decltype(&cusparseSpMatGetSize) csr_size;
  decltype(&cusparseCsrSetPointers) set_csr;
  decltype(&cusparseCreateDnMat) create_dense;
  decltype(&cusparseDestroyDnMat) destroy_dense;
  decltype(&cusparseSpMM_bufferSize) spmm_bytes;
  decltype(&cusparseSpMM_preprocess) spmm_prepare;
  decltype(&cusparseSpMM) spmm;
  decltype(&cusparseSpGEMM_createDescr) create_spgemm;
  decltype(&cusparseSpGEMM_destroyDescr) destroy_spgemm;
  decltype(&cusparseSpGEMM_workEstimation) spgemm_estimate;
  decltype(&cusparseSpGEMM_compute) spgemm_compute;
  decltype(&cusparseSpGEMM_copy) spgemm_copy;
};

/// Loads the library, which only the baselines need; throws Error (69) if it is missing.
CusparseCalls load_cusparse();

}  // namespace bulksim::cuda
