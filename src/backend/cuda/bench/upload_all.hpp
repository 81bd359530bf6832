#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Copies host values to device memory that is large enough; returns when they have arrived.
template <class T>
void upload_into(const std::vector<T>& values, const DeviceBuffer<T>& buffer,
                 const Stream& stream) {
  const std::int64_t count = values.size();
  if (count == 0) return;
  const PinnedBuffer<T> staged(count);
  std::copy(values.begin(), values.end(), staged.data());
  upload(staged, buffer, count, stream);
  stream.wait();
}

/// The same, to new memory.
template <class T>
DeviceBuffer<T> upload_all(const std::vector<T>& values, const Stream& stream) {
  DeviceBuffer<T> buffer(std::ssize(values));
  upload_into(values, buffer, stream);
  return buffer;
}

/// Copies device values to the host.
template <class T>
std::vector<T> download_all(const T* values, std::int64_t count, const Stream& stream) {
  if (count == 0) return {};
  const PinnedBuffer<T> staged(count);
  download(values, staged, count, stream);
  stream.wait();
  return {staged.data(), staged.data() + count};
}

}  // namespace bulksim::cuda
