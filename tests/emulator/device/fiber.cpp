// Compiled without -fsanitize=thread in every build: the bookkeeping of the emulator stays
// invisible to the thread sanitizer, which then checks the kernels alone.
#include "emulator/device/fiber.hpp"

#include <new>
#include <utility>

#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef BULKSIM_EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace bulksim::emulator {

namespace context = boost::context::detail;

namespace {

constexpr std::size_t kGuardBytes = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(BULKSIM_EMULATOR_TSAN)
constexpr std::size_t kStackBytes = 256 * 1024;  // instrumented frames are larger
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif

void* map_stack() {
  void* mapped = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapped, kGuardBytes, PROT_NONE);
  return static_cast<char*>(mapped) + kGuardBytes;
}

}  // namespace

struct Fiber::Trampoline {
  static void before_resume([[maybe_unused]] Fiber& fiber) {
#ifdef BULKSIM_EMULATOR_TSAN
    fiber.scheduler_thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.own_thread_, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&fiber.scheduler_fake_stack_, fiber.stack_, kStackBytes);
#endif
  }

  static void after_resume([[maybe_unused]] Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fiber.scheduler_fake_stack_, nullptr, nullptr);
#endif
  }

  static void before_suspend([[maybe_unused]] Fiber& fiber) {
#ifdef BULKSIM_EMULATOR_TSAN
    __tsan_switch_to_fiber(fiber.scheduler_thread_, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __SANITIZE_ADDRESS__
    // a fiber that has ended frees its fake stack
    __sanitizer_start_switch_fiber(fiber.running_ ? &fiber.own_fake_stack_ : nullptr,
                                   fiber.scheduler_stack_, fiber.scheduler_stack_bytes_);
#endif
  }

  static void after_suspend([[maybe_unused]] Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fiber.own_fake_stack_, &fiber.scheduler_stack_,
                                    &fiber.scheduler_stack_bytes_);
#endif
  }

  static void main(context::transfer_t from) {
    Fiber& fiber = *static_cast<Fiber*>(from.data);
    fiber.scheduler_ = from.fctx;
    after_suspend(fiber);
    fiber.entry_(fiber.argument_);
    fiber.running_ = false;
    before_suspend(fiber);
    context::jump_fcontext(fiber.scheduler_, nullptr);
  }
};

Fiber::Fiber() : stack_(map_stack()) {
#ifdef BULKSIM_EMULATOR_TSAN
  own_thread_ = __tsan_create_fiber(0);
#endif
}

Fiber::Fiber(Fiber&& other) noexcept
    : stack_(std::exchange(other.stack_, nullptr)),
      own_thread_(std::exchange(other.own_thread_, nullptr)) {}

Fiber::~Fiber() {
  if (stack_ == nullptr) return;
#ifdef BULKSIM_EMULATOR_TSAN
  __tsan_destroy_fiber(own_thread_);
#endif
  munmap(static_cast<char*>(stack_) - kGuardBytes, kGuardBytes + kStackBytes);
}

void Fiber::start(Entry entry, void* argument) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_, kStackBytes);
#endif
  entry_ = entry;
  argument_ = argument;
  running_ = true;
  own_fake_stack_ = nullptr;
  context_ = context::make_fcontext(static_cast<char*>(stack_) + kStackBytes, kStackBytes,
                                    Trampoline::main);
}

void Fiber::resume() {
  Trampoline::before_resume(*this);
  context_ = context::jump_fcontext(context_, this).fctx;
  Trampoline::after_resume(*this);
}

void Fiber::suspend() {
  Trampoline::before_suspend(*this);
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
  Trampoline::after_suspend(*this);
}

void release([[maybe_unused]] void* token) {
#ifdef BULKSIM_EMULATOR_TSAN
  __tsan_release(token);
#endif
}

void acquire([[maybe_unused]] void* token) {
#ifdef BULKSIM_EMULATOR_TSAN
  __tsan_acquire(token);
#endif
}

}  // namespace bulksim::emulator
