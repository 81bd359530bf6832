// Replaces backend/cuda/kernels/sort.cu.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backend/cuda/kernels/sort.hpp"
#include "emulator/device/cuda_emulator.hpp"

namespace bulksim::cuda {

namespace {

void sort_on_the_device(SortBuffers buffers, std::int64_t count, int bits) {
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  std::vector<std::size_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return (buffers.keys[0][a] & mask) < (buffers.keys[0][b] & mask);
  });
  for (std::size_t at = 0; at < order.size(); ++at) {
    buffers.keys[1][at] = buffers.keys[0][order[at]];
    buffers.pairs[1][at] = buffers.pairs[0][order[at]];
  }
  std::memset(buffers.pairs[0], 0xFF,
              order.size() * sizeof(int2));  // the input buffer is undefined after sorting
}

}  // namespace

std::int64_t sort_scratch_bytes(std::int64_t, int) {
  return 64;
}

int sort_by_key(void*, std::int64_t, const SortBuffers& buffers, std::int64_t count, int bits,
                const Stream& stream) {
  emulator::enqueue_work(stream.get(), [=] { sort_on_the_device(buffers, count, bits); });
  return 1;
}

}  // namespace bulksim::cuda
