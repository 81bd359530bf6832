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
};

/// The baseline that comes to mind first: a thread a pair, which merges the two rows.
/// values[query * items + item] are the cosines.
void launch_merge(const MergeRows& queries, const MergeRows& items, float inverse_one,
                  float* values, const Stream& stream);

}  // namespace bulksim::cuda
