#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda/kernels/sort.hpp"

namespace bulksim::cuda {

std::int64_t sort_scratch_bytes(std::int64_t count, int bits) {
  std::size_t bytes = 0;
  cub::DoubleBuffer<std::uint64_t> keys;
  cub::DoubleBuffer<int2> pairs;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, pairs, count, 0, bits),
        "measure the sorting of item blocks");
  return static_cast<std::int64_t>(bytes);
}

int sort_by_key(void* scratch, std::int64_t scratch_bytes, const SortBuffers& buffers,
                std::int64_t count, int bits, const Stream& stream) {
  std::size_t bytes = scratch_bytes;
  cub::DoubleBuffer<std::uint64_t> keys(buffers.keys[0], buffers.keys[1]);
  cub::DoubleBuffer<int2> pairs(buffers.pairs[0], buffers.pairs[1]);
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, pairs, count, 0, bits, stream.get()),
        "sort the entries of item blocks");
  return keys.selector;  // both selectors change together
}

}  // namespace bulksim::cuda
