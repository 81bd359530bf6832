#pragma once

#include <cstdint>

#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Rows on the device as CSR, columns ascending.
struct MergeRows {
  std::int64_t rows = 0;
  const std::int64_t* offsets = nullptr;
  const std::uint32_t* columns = nullptr;
  const std::int32_t* values = nullptr;
  const double* scales = nullptr;
};

/// The simplest baseline: one thread per pair, which merges the two rows.
/// The scores are in values[query * items + item].
void launch_merge(const MergeRows& queries, const MergeRows& items, float* values,
                  const Stream& stream);

}  // namespace bulksim::cuda
