#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cuda/stream.hpp"

namespace bulksim::cuda {

/// `size` uninitialized elements of device memory, accessible only to kernels and copies.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t size) { reserve(size); }

  /// Ensures room for `size` elements. Growing discards the contents and synchronizes with the
  /// device.
  void reserve(std::int64_t size) {
    if (size <= size_) return;
    clear();
    void* raw = nullptr;
    check(cudaMalloc(&raw, size * sizeof(T)), "allocate device memory");
    memory_.reset(static_cast<T*>(raw));
    size_ = size;
  }
  void clear() {
    memory_.reset();
    size_ = 0;
  }

  T* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* memory) const { static_cast<void>(cudaFree(memory)); }
  };
  std::unique_ptr<T, Free> memory_;
  std::int64_t size_ = 0;
};

/// `size` elements of pinned host memory, which the device accesses directly.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::int64_t size) { reserve(size); }

  /// Ensures room for `size` elements. Growing discards the contents.
  void reserve(std::int64_t size) {
    if (size <= size_) return;
    memory_.reset();
    size_ = 0;
    void* raw = nullptr;
    check(cudaHostAlloc(&raw, size * sizeof(T), cudaHostAllocDefault),
          "allocate pinned host memory");
    memory_.reset(static_cast<T*>(raw));
    size_ = size;
  }

  T* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }
  std::span<T> view() const { return {data(), static_cast<std::size_t>(size_)}; }

 private:
  struct Free {
    void operator()(T* memory) const { static_cast<void>(cudaFreeHost(memory)); }
  };
  std::unique_ptr<T, Free> memory_;
  std::int64_t size_ = 0;
};

/// Copies `count` elements to the device, ordered by `stream`.
template <class T>
void upload(const PinnedBuffer<T>& from, const DeviceBuffer<T>& to, std::int64_t count,
            const Stream& stream) {
  if (count == 0) return;
  check(cudaMemcpyAsync(to.data(), from.data(), count * sizeof(T), cudaMemcpyHostToDevice,
                        stream.get()),
        "copy to the device");
}

/// Copies `count` elements from `from` to the host, ordered by `stream`.
template <class T>
void download(const T* from, const PinnedBuffer<T>& to, std::int64_t count, const Stream& stream) {
  if (count == 0) return;
  check(cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream.get()),
        "copy from the device");
}

/// Sets `count` elements to zero bytes, ordered by `stream`.
template <class T>
void clear(T* memory, std::int64_t count, const Stream& stream) {
  if (count == 0) return;
  check(cudaMemsetAsync(memory, 0, count * sizeof(T), stream.get()), "clear device memory");
}

}  // namespace bulksim::cuda
