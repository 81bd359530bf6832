#pragma once

#include <cstdint>

#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Two buffers for the keys and two for their values; sorting alternates between them.
struct SortBuffers {
  std::uint64_t* keys[2] = {};
  int2* pairs[2] = {};
};

/// Bytes of device memory that `sort_by_key` needs in addition to its buffers.
std::int64_t sort_scratch_bytes(std::int64_t count, int bits);

/// Sorts `count` elements of keys[0] and pairs[0] by the low `bits` bits of their keys; equal keys
/// keep their order. Returns which of the two buffers contains the result.
int sort_by_key(void* scratch, std::int64_t scratch_bytes, const SortBuffers& buffers,
                std::int64_t count, int bits, const Stream& stream);

}  // namespace bulksim::cuda
