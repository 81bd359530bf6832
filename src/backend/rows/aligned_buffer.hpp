#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace bulksim {

/// Memory for vector loads: aligned to a cache line, grown to exactly the requested size, never
/// shrunk. Growing discards the values; new values are uninitialized.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  /// At least `size` values.
  void require(std::size_t size) {
    if (size <= size_) return;
    data_.reset();
    data_.reset(static_cast<T*>(::operator new (size * sizeof(T), std::align_val_t{kAlignment})));
    size_ = size;
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace bulksim
