#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace bulksim::emulator {

/// Memory of exactly the requested size, to expose overruns; freed after the launch.
class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, std::size_t alignment)
      : bytes_(bytes), reserved_((bytes + alignment - 1) / alignment * alignment) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, reserved_)));
    std::memset(memory_.get(), 0xFF, reserved_);
    mark_end(true);
  }
  ~SharedMemory() {
    if (memory_) mark_end(false);
  }
  SharedMemory(SharedMemory&&) = default;
  SharedMemory& operator=(SharedMemory&&) = delete;

  std::byte* data() const { return memory_.get(); }

 private:
  void mark_end([[maybe_unused]] bool poisoned) const {
#ifdef __SANITIZE_ADDRESS__
    if (poisoned) __asan_poison_memory_region(data() + bytes_, reserved_ - bytes_);
    if (!poisoned) __asan_unpoison_memory_region(data() + bytes_, reserved_ - bytes_);
#endif
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::size_t reserved_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace bulksim::emulator
