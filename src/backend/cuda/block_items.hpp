#pragma once

#include "bulksim/core/types.hpp"

namespace bulksim::cuda {

/// Items of one block: one row identity, one set of accumulators in shared memory.
inline constexpr int kBlockItems = kFineRows;

}  // namespace bulksim::cuda
