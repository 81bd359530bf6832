#pragma once

#include <cstddef>

namespace bulksim::emulator {

/// One CUDA thread: a stack and the point where its function is suspended.
///
/// Every switch is announced to the sanitizers. Under the thread sanitizer a fiber counts as a
/// thread: only `acquire` and `release` order two of them.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) = delete;

  /// Prepares a run of `entry(argument)`; the previous run must have ended.
  void start(Entry entry, void* argument);
  /// Runs the fiber until it suspends itself or ends. Called from outside.
  void resume();
  /// Returns to the caller of resume. Called from inside.
  void suspend();

  bool running() const { return running_; }

  /// Switches contexts, in either direction; for the trampoline of the fiber.
  struct Trampoline;

 private:
  friend struct Trampoline;

  void* stack_ = nullptr;      // above a guard page
  void* context_ = nullptr;    // where the fiber is suspended
  void* scheduler_ = nullptr;  // where the caller of resume is suspended
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  bool running_ = false;
  void* own_fake_stack_ = nullptr;        // address sanitizer
  void* scheduler_fake_stack_ = nullptr;  // address sanitizer
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
  void* own_thread_ = nullptr;        // thread sanitizer
  void* scheduler_thread_ = nullptr;  // thread sanitizer
};

/// What a fiber did before `release(token)` is visible after `acquire(token)`.
void release(void* token);
void acquire(void* token);

}  // namespace bulksim::emulator
