#include "backend/cuda/bench/merge.hpp"
#include "backend/cuda/kernels/device_functions.cuh"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim::cuda {

namespace {

constexpr unsigned kItems = 32;  // per block: neighbours write to the same line
constexpr unsigned kQueries = 8;

__global__ void merge_kernel(MergeRows queries, MergeRows items, float* values) {
  const std::int64_t item = std::int64_t{blockIdx.x} * kItems + threadIdx.x;
  const std::int64_t query = std::int64_t{blockIdx.y} * kQueries + threadIdx.y;
  if (item >= items.rows || query >= queries.rows) return;
  std::int64_t q = __ldg(queries.offsets + query);
  std::int64_t i = __ldg(items.offsets + item);
  const std::int64_t q_end = __ldg(queries.offsets + query + 1);
  const std::int64_t i_end = __ldg(items.offsets + item + 1);
  long long sum = 0;
  while (q < q_end && i < i_end) {
    const std::uint32_t q_column = __ldg(queries.columns + q);
    const std::uint32_t i_column = __ldg(items.columns + i);
    if (q_column == i_column) {
      sum = multiply_add(__ldg(queries.values + q), __ldg(items.values + i), sum);
    }
    q += q_column <= i_column ? 1 : 0;
    i += i_column <= q_column ? 1 : 0;
  }
  values[query * items.rows + item] =
      to_score(sum, __ldg(queries.scales + query), __ldg(items.scales + item));
}

}  // namespace

void launch_merge(const MergeRows& queries, const MergeRows& items, float* values,
                  const Stream& stream) {
  if (queries.rows == 0 || items.rows == 0) return;
  const dim3 grid(static_cast<unsigned>((items.rows + kItems - 1) / kItems),
                  static_cast<unsigned>((queries.rows + kQueries - 1) / kQueries));
  BULKSIM_LAUNCH(merge_kernel, grid, dim3(kItems, kQueries), 0, stream.get(), queries, items,
                 values);
  check_launch("the merge kernel");
}

}  // namespace bulksim::cuda
