#pragma once

#include <cstdint>

#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// Two places for the keys and two for what goes with them; sorting goes back and forth.
struct SortBuffers {
  std::uint64_t* keys[2] = {};
  int2* pairs[2] = {};
};

/// Device memory that `sort_by_key` needs beside its buffers.
std::int64_t sort_scratch_bytes(std::int64_t count, int bits);

/// Sorts `count` elements of keys[0] and pairs[0] by the low `bits` bits of their keys; equal keys
/// keep their order. Returns in which of the two places the result is.
int sort_by_key(void* scratch, std::int64_t scratch_bytes, const SortBuffers& buffers,
                std::int64_t count, int bits, const Stream& stream);

}  // namespace bulksim::cuda
