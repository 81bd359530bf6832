#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cuda/bench/cusparse_calls.hpp"
#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Rows for cuSPARSE on the host: 32-bit positions, float32 values.
struct FloatRows {
  std::int64_t columns = 0;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> col_indices;
  std::vector<float> values;

  std::int64_t rows() const { return std::ssize(offsets) - 1; }
  /// Columns become rows.
  FloatRows transposed() const;
};

/// A prepared product of items with queries.
class CusparseProduct {
 public:
  CusparseProduct() = default;
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;
  virtual ~CusparseProduct() = default;

  /// Enqueues the whole product on the stream, or computes it immediately.
  virtual void multiply() = 0;
  /// One row of the last product: the scores of one item with all queries.
  virtual std::vector<float> row(std::int64_t item) const = 0;
};

/// Items times queries, dense: the queries are a panel of columns x queries values.
std::unique_ptr<CusparseProduct> make_spmm(const CusparseCalls& calls, const FloatRows& items,
                                           const FloatRows& queries, const Stream& stream);
/// Items times transposed queries; both factors and the product are sparse.
std::unique_ptr<CusparseProduct> make_spgemm(const CusparseCalls& calls, const FloatRows& items,
                                             const FloatRows& queries, const Stream& stream);

}  // namespace bulksim::cuda
