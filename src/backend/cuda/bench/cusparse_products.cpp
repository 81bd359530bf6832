#include "backend/cuda/bench/cusparse_products.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "backend/cuda/bench/upload_all.hpp"

namespace bulksim::cuda {

namespace {

constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;
constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;

/// The library's handle, bound to a stream.
class Handle {
 public:
  Handle(const CusparseCalls& calls, const Stream& stream) : calls_(calls) {
    expect(calls_.create(&handle_), "start");
    expect(calls_.set_stream(handle_, stream.get()), "set its stream");
  }
  ~Handle() { calls_.destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cusparseHandle_t get() const { return handle_; }
  const CusparseCalls& calls() const { return calls_; }
  void expect(cusparseStatus_t status, const char* action) const {
    if (status == CUSPARSE_STATUS_SUCCESS) return;
    throw Error(ExitCode::kUnavailable,
                std::string("cuSPARSE cannot ") + action + ": " + calls_.error_text(status));
  }

 private:
  CusparseCalls calls_;
  cusparseHandle_t handle_ = nullptr;
};

/// Sparse rows on the device and their descriptor.
class DeviceCsr {
 public:
  DeviceCsr(const Handle& handle, const FloatRows& rows, const Stream& stream)
      : handle_(handle),
        rows_(rows.rows()),
        width_(rows.columns),
        offsets_(upload_all(rows.offsets, stream)),
        columns_(upload_all(rows.col_indices, stream)),
        values_(upload_all(rows.values, stream)) {
    describe(rows.offsets.back());
  }
  /// For a product that is not computed yet.
  DeviceCsr(const Handle& handle, std::int64_t rows, std::int64_t columns)
      : handle_(handle), rows_(rows), width_(columns), offsets_(rows + 1) {
    describe(0);
  }
  ~DeviceCsr() { handle_.calls().destroy_csr(description_); }
  DeviceCsr(const DeviceCsr&) = delete;
  DeviceCsr& operator=(const DeviceCsr&) = delete;

  cusparseSpMatDescr_t get() const { return description_; }
  /// Drops the entries; keeps their memory.
  void begin_again() {
    handle_.calls().destroy_csr(description_);
    describe(0);
  }
  /// Allocates as many entries as the descriptor states.
  void make_room() {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t entries = 0;
    handle_.expect(handle_.calls().csr_size(description_, &rows, &columns, &entries),
                   "report the size of a product");
    columns_.reserve(entries);
    values_.reserve(entries);
    handle_.expect(
        handle_.calls().set_csr(description_, offsets_.data(), columns_.data(), values_.data()),
        "set the memory of a product");
  }
  std::vector<float> dense_row(std::int64_t row, const Stream& stream) const {
    const auto bounds = download_all(offsets_.data() + row, 2, stream);
    const std::int64_t count = bounds[1] - bounds[0];
    const auto columns = download_all(columns_.data() + bounds[0], count, stream);
    const auto values = download_all(values_.data() + bounds[0], count, stream);
    std::vector<float> dense(width_);
    for (std::size_t at = 0; at < columns.size(); ++at)
      dense[columns[at]] = values[at];
    return dense;
  }

 private:
  void describe(std::int64_t entries) {
    handle_.expect(
        handle_.calls().create_csr(&description_, rows_, width_, entries, offsets_.data(),
                                   columns_.data(), values_.data(), CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
        "describe sparse rows");
  }

  const Handle& handle_;
  std::int64_t rows_;
  std::int64_t width_;
  DeviceBuffer<std::int32_t> offsets_;
  DeviceBuffer<std::int32_t> columns_;
  DeviceBuffer<float> values_;
  cusparseSpMatDescr_t description_ = nullptr;
};

/// A dense matrix, row-major.
class DeviceDense {
 public:
  DeviceDense(const Handle& handle, std::int64_t rows, std::int64_t columns)
      : handle_(handle), columns_(columns), values_(rows * columns) {
    handle_.expect(handle_.calls().create_dense(&description_, rows, columns, columns,
                                                values_.data(), CUDA_R_32F, CUSPARSE_ORDER_ROW),
                   "describe a dense matrix");
  }
  ~DeviceDense() { handle_.calls().destroy_dense(description_); }
  DeviceDense(const DeviceDense&) = delete;
  DeviceDense& operator=(const DeviceDense&) = delete;

  cusparseDnMatDescr_t get() const { return description_; }
  const DeviceBuffer<float>& values() const { return values_; }
  std::vector<float> row(std::int64_t row, const Stream& stream) const {
    return download_all(values_.data() + row * columns_, columns_, stream);
  }

 private:
  const Handle& handle_;
  std::int64_t columns_;
  DeviceBuffer<float> values_;
  cusparseDnMatDescr_t description_ = nullptr;
};

class Spmm final : public CusparseProduct {
 public:
  Spmm(const CusparseCalls& calls, const FloatRows& items, const FloatRows& queries,
       const Stream& stream)
      : stream_(stream),
        handle_(calls, stream),
        items_(handle_, items, stream),
        panel_(handle_, items.columns, queries.rows()),
        product_(handle_, items.rows(), queries.rows()) {
    fill_panel(queries);
    std::size_t bytes = 0;
    handle_.expect(
        calls.spmm_bytes(handle_.get(), kAsIs, kAsIs, &kOne, items_.get(), panel_.get(), &kZero,
                         product_.get(), CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, &bytes),
        "size SpMM");
    scratch_.reserve(bytes);
    handle_.expect(
        calls.spmm_prepare(handle_.get(), kAsIs, kAsIs, &kOne, items_.get(), panel_.get(), &kZero,
                           product_.get(), CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, scratch_.data()),
        "prepare SpMM");
  }

  void multiply() override {
    handle_.expect(
        handle_.calls().spmm(handle_.get(), kAsIs, kAsIs, &kOne, items_.get(), panel_.get(), &kZero,
                             product_.get(), CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, scratch_.data()),
        "multiply with SpMM");
  }
  std::vector<float> row(std::int64_t item) const override { return product_.row(item, stream_); }

 private:
  void fill_panel(const FloatRows& queries) {
    std::vector<float> panel(panel_.values().size());
    const std::int64_t width = queries.rows();
    for (std::int64_t query = 0; query < width; ++query) {
      const std::size_t end = queries.offsets[query + 1];
      for (std::size_t at = queries.offsets[query]; at < end; ++at) {
        panel[queries.col_indices[at] * width + query] = queries.values[at];
      }
    }
    upload_into(panel, panel_.values(), stream_);
  }

  const Stream& stream_;
  Handle handle_;
  DeviceCsr items_;
  DeviceDense panel_;
  DeviceDense product_;
  DeviceBuffer<std::byte> scratch_;
};

class Spgemm final : public CusparseProduct {
 public:
  Spgemm(const CusparseCalls& calls, const FloatRows& items, const FloatRows& queries,
         const Stream& stream)
      : stream_(stream),
        handle_(calls, stream),
        items_(handle_, items, stream),
        queries_(handle_, queries.transposed(), stream),
        product_(handle_, items.rows(), queries.rows()) {}

  /// All steps, as a user must call them: the size of the product is not known in advance.
  void multiply() override {
    const CusparseCalls& calls = handle_.calls();
    product_.begin_again();
    cusparseSpGEMMDescr_t work = nullptr;
    handle_.expect(calls.create_spgemm(&work), "begin SpGEMM");
    const std::unique_ptr<std::remove_pointer_t<cusparseSpGEMMDescr_t>,
                          decltype(calls.destroy_spgemm)>
        owner(work, calls.destroy_spgemm);
    // each step first reports how much memory it needs
    const auto run = [&](auto step, DeviceBuffer<std::byte>& scratch, const char* action) {
      std::size_t bytes = 0;
      const auto call = [&](void* memory) {
        handle_.expect(
            step(handle_.get(), kAsIs, kAsIs, &kOne, items_.get(), queries_.get(), &kZero,
                 product_.get(), CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work, &bytes, memory),
            action);
      };
      call(nullptr);
      scratch.reserve(bytes);
      call(scratch.data());
    };
    run(calls.spgemm_estimate, estimate_, "estimate SpGEMM");
    run(calls.spgemm_compute, compute_, "multiply with SpGEMM");
    product_.make_room();
    handle_.expect(
        calls.spgemm_copy(handle_.get(), kAsIs, kAsIs, &kOne, items_.get(), queries_.get(), &kZero,
                          product_.get(), CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work),
        "copy the product of SpGEMM");
  }
  std::vector<float> row(std::int64_t item) const override {
    return product_.dense_row(item, stream_);
  }

 private:
  const Stream& stream_;
  Handle handle_;
  DeviceCsr items_;
  DeviceCsr queries_;
  DeviceCsr product_;
  DeviceBuffer<std::byte> estimate_;
  DeviceBuffer<std::byte> compute_;
};

}  // namespace

FloatRows FloatRows::transposed() const {
  FloatRows to;
  to.columns = rows();
  to.offsets.assign(columns + 1, 0);
  to.col_indices.resize(col_indices.size());
  to.values.resize(values.size());
  for (const std::int32_t column : col_indices)
    ++to.offsets[column + 1];
  std::partial_sum(to.offsets.begin(), to.offsets.end(), to.offsets.begin());
  std::vector<std::int32_t> next(to.offsets);
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    const std::size_t end = offsets[row + 1];
    for (std::size_t at = offsets[row]; at < end; ++at) {
      const std::size_t place = next[col_indices[at]]++;
      to.col_indices[place] = static_cast<std::int32_t>(row);
      to.values[place] = values[at];
    }
  }
  return to;
}

std::unique_ptr<CusparseProduct> make_spmm(const CusparseCalls& calls, const FloatRows& items,
                                           const FloatRows& queries, const Stream& stream) {
  return std::make_unique<Spmm>(calls, items, queries, stream);
}

std::unique_ptr<CusparseProduct> make_spgemm(const CusparseCalls& calls, const FloatRows& items,
                                             const FloatRows& queries, const Stream& stream) {
  return std::make_unique<Spgemm>(calls, items, queries, stream);
}

}  // namespace bulksim::cuda
