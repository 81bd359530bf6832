#pragma once

#include <cstddef>

namespace bulksim::emulator {

/// A stack of its own and the place where its function waits: one CUDA thread at work.
///
/// The sanitizers are told about every switch, and under the thread sanitizer a fiber counts as a
/// thread: nothing orders two of them but `acquire` and `release`.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) = delete;

  /// Prepares a run of `entry(argument)`; the run before must have ended.
  void start(Entry entry, void* argument);
  /// Runs the fiber until it suspends itself or ends. Called from outside.
  void resume();
  /// Goes back to whoever resumed the fiber. Called from inside.
  void suspend();

  bool running() const { return running_; }

  /// One switch of contexts, in either direction; for the fiber's own trampoline.
  struct Trampoline;

 private:
  friend struct Trampoline;

  void* stack_ = nullptr;      // above a guard page
  void* context_ = nullptr;    // where the fiber waits
  void* scheduler_ = nullptr;  // where whoever resumed it waits
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

/// What a fiber did before `release(token)` is seen by whoever comes after `acquire(token)`.
void release(void* token);
void acquire(void* token);

}  // namespace bulksim::emulator
