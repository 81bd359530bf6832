// The device benchmark with a stand-in for cuSPARSE that computes on the host.
#include "backend/cuda/bench/kernel_bench.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/device/emulated_runtime.hpp"
#include "support/backend_support.hpp"

// The types of the library; its header declares their names.

struct cusparseContext {};
struct cusparseSpMatDescr {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t entries;
  std::int32_t* offsets;
  std::int32_t* col_indices;
  float* values;
};
struct cusparseDnMatDescr {
  std::int64_t rows;
  std::int64_t columns;
  float* values;
};
struct cusparseSpGEMMDescr {
  std::vector<std::map<std::int32_t, float>> product;
};

namespace bulksim {
namespace {

enum class Fault { kNone, kZeros, kResources };
Fault fault = Fault::kNone;
int live = 0;  // handles and descriptors

template <class T>
cusparseStatus_t create(T** made) {
  ++live;
  *made = new T;
  return CUSPARSE_STATUS_SUCCESS;
}
template <class T>
cusparseStatus_t destroy(T* made) {
  --live;
  delete made;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t set_stream(cusparseHandle_t, cudaStream_t) {
  return CUSPARSE_STATUS_SUCCESS;
}
const char* error_text(cusparseStatus_t) {
  return "insufficient resources";
}
cusparseStatus_t create_csr(cusparseSpMatDescr_t* description, std::int64_t rows,
                            std::int64_t columns, std::int64_t entries, void* offsets,
                            void* col_indices, void* values, cusparseIndexType_t,
                            cusparseIndexType_t, cusparseIndexBase_t, cudaDataType) {
  ++live;
  *description = new cusparseSpMatDescr{rows,
                                        columns,
                                        entries,
                                        static_cast<std::int32_t*>(offsets),
                                        static_cast<std::int32_t*>(col_indices),
                                        static_cast<float*>(values)};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t csr_size(cusparseConstSpMatDescr_t description, std::int64_t* rows,
                          std::int64_t* columns, std::int64_t* entries) {
  *rows = description->rows;
  *columns = description->columns;
  *entries = description->entries;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t set_csr(cusparseSpMatDescr_t description, void* offsets, void* col_indices,
                         void* values) {
  description->offsets = static_cast<std::int32_t*>(offsets);
  description->col_indices = static_cast<std::int32_t*>(col_indices);
  description->values = static_cast<float*>(values);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t create_dense(cusparseDnMatDescr_t* description, std::int64_t rows,
                              std::int64_t columns, std::int64_t, void* values, cudaDataType,
                              cusparseOrder_t order) {
  EXPECT_EQ(order, CUSPARSE_ORDER_ROW);
  ++live;
  *description = new cusparseDnMatDescr{rows, columns, static_cast<float*>(values)};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spmm_bytes(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                            cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                            cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                            std::size_t* bytes) {
  *bytes = 100;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spmm_prepare(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                              const void*, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                              const void*, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                              void* scratch) {
  EXPECT_NE(scratch, nullptr);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spmm(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                      cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void*,
                      cusparseDnMatDescr_t c, cudaDataType, cusparseSpMMAlg_t, void*) {
  std::fill_n(c->values, c->rows * c->columns, 0.0F);
  if (fault == Fault::kZeros) return CUSPARSE_STATUS_SUCCESS;
  for (std::int64_t row = 0; row < a->rows; ++row) {
    for (std::int32_t at = a->offsets[row]; at < a->offsets[row + 1]; ++at) {
      for (std::int64_t n = 0; n < b->columns; ++n) {
        c->values[row * c->columns + n] +=
            a->values[at] * b->values[a->col_indices[at] * b->columns + n];
      }
    }
  }
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spgemm_estimate(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                 const void*, cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t,
                                 const void*, cusparseSpMatDescr_t, cudaDataType,
                                 cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t, std::size_t* bytes,
                                 void*) {
  *bytes = 64;
  return fault == Fault::kResources ? CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                                    : CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spgemm_compute(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                const void*, cusparseConstSpMatDescr_t a,
                                cusparseConstSpMatDescr_t b, const void*, cusparseSpMatDescr_t c,
                                cudaDataType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t work,
                                std::size_t* bytes, void* scratch) {
  *bytes = 64;
  if (scratch == nullptr) return CUSPARSE_STATUS_SUCCESS;
  work->product.assign(static_cast<std::size_t>(a->rows), {});
  c->entries = 0;
  for (std::int64_t row = 0; row < a->rows; ++row) {
    auto& sums = work->product[static_cast<std::size_t>(row)];
    for (std::int32_t at = a->offsets[row]; at < a->offsets[row + 1]; ++at) {
      const std::int32_t inner = a->col_indices[at];
      for (std::int32_t other = b->offsets[inner]; other < b->offsets[inner + 1]; ++other) {
        sums[b->col_indices[other]] += a->values[at] * b->values[other];
      }
    }
    c->entries += static_cast<std::int64_t>(sums.size());
  }
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t spgemm_copy(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                             const void*, cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t,
                             const void*, cusparseSpMatDescr_t c, cudaDataType, cusparseSpGEMMAlg_t,
                             cusparseSpGEMMDescr_t work) {
  std::int32_t at = 0;
  c->offsets[0] = 0;
  for (std::size_t row = 0; row < work->product.size(); ++row) {
    for (const auto& [column, value] : work->product[row]) {
      c->col_indices[at] = column;
      c->values[at++] = value;
    }
    c->offsets[row + 1] = at;
  }
  return CUSPARSE_STATUS_SUCCESS;
}

constexpr cuda::CusparseCalls kStandIn{.create = create,
                                       .destroy = destroy,
                                       .set_stream = set_stream,
                                       .error_text = error_text,
                                       .create_csr = create_csr,
                                       .destroy_csr = destroy,
                                       .csr_size = csr_size,
                                       .set_csr = set_csr,
                                       .create_dense = create_dense,
                                       .destroy_dense = destroy,
                                       .spmm_bytes = spmm_bytes,
                                       .spmm_prepare = spmm_prepare,
                                       .spmm = spmm,
                                       .create_spgemm = create,
                                       .destroy_spgemm = destroy,
                                       .spgemm_estimate = spgemm_estimate,
                                       .spgemm_compute = spgemm_compute,
                                       .spgemm_copy = spgemm_copy};

class KernelBenchTest : public testing::Test {
 protected:
  KernelBenchTest() { emulator::reset_runtime(); }
  ~KernelBenchTest() override {
    fault = Fault::kNone;
    EXPECT_EQ(live, 0);
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  CudaKernelRates run(const cuda::CusparseCalls* calls = &kStandIn,
                      const std::string& why_not = "") {
    const test::BackendProblem problem({30, 200}, {30, 200});
    CudaBenchmarkOptions options;
    options.repeats = 2;
    options.baseline_queries = 20;
    options.baseline_items = 100;
    return cuda::run_kernel_bench(problem.queries.rows, problem.items, options, calls, why_not);
  }
};

TEST_F(KernelBenchTest, ComparesTheScoreKernelWithThreeBaselinesThatAreRight) {
  const CudaKernelRates rates = run();

  ASSERT_EQ(rates.contenders.size(), 4U);
  EXPECT_EQ(rates.contenders[0].queries, 30);
  EXPECT_EQ(rates.contenders[0].items, 200);
  EXPECT_EQ(rates.contenders[0].largest_error, 0.0);
  EXPECT_EQ(rates.contenders[1].largest_error, 0.0);  // it merges the same integers
  for (const CudaContender& contender : rates.contenders) {
    EXPECT_TRUE(contender.is_right()) << contender.name << contender.left_out;
    EXPECT_EQ(contender.seconds.size(), 2U);
    EXPECT_GT(contender.pairs_per_s, 0.0);
  }
  EXPECT_EQ(rates.contenders[3].queries, 20);
  EXPECT_EQ(rates.contenders[3].items, 100);
  EXPECT_EQ(rates.failed_identities, 0);
  EXPECT_GT(rates.multiply_adds, 0);
}

TEST_F(KernelBenchTest, SilentZerosOfTheLibraryAreNotAResult) {
  fault = Fault::kZeros;

  const CudaKernelRates rates = run();

  EXPECT_FALSE(rates.contenders[2].is_right());
  EXPECT_GT(rates.contenders[2].largest_error, 0.01);
  EXPECT_TRUE(rates.contenders[3].is_right());
}

TEST_F(KernelBenchTest, ABaselineThatFailsIsLeftOutWithItsReason) {
  fault = Fault::kResources;

  const CudaKernelRates rates = run();

  EXPECT_EQ(rates.contenders[3].left_out,
            "cuSPARSE cannot estimate SpGEMM: insufficient resources");
  EXPECT_TRUE(rates.contenders[2].is_right());
}

TEST_F(KernelBenchTest, WithoutTheLibraryTheOtherBaselinesRun) {
  const CudaKernelRates rates = run(nullptr, "cannot load it");

  EXPECT_TRUE(rates.contenders[1].is_right());
  EXPECT_EQ(rates.contenders[2].left_out, "cannot load it");
  EXPECT_EQ(rates.contenders[3].left_out, "cannot load it");
}

}  // namespace
}  // namespace bulksim
