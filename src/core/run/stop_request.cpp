#include "core/run/stop_request.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <initializer_list>

#include <time.h>
#include <unistd.h>

namespace bulksim {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSameRequest = 200 * kMillisecond;
constexpr std::int64_t kInAHurry = 5'000 * kMillisecond;

// State set by the signal handlers, hence global: time of the last request (nanoseconds of the
// monotonic clock, 0: none), its signal, and whether a progress line was requested with SIGUSR2.
struct Heard {
  std::atomic<std::int64_t> time = 0;
  std::atomic<int> signal = 0;
  std::atomic<bool> progress = false;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
Heard heard;

extern "C" void on_stop(int signal) {
  const int saved = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t time = now.tv_sec * 1'000 * kMillisecond + now.tv_nsec;
  const std::int64_t before = heard.time.exchange(time);
  if (before != 0 && time - before > kSameRequest && time - before < kInAHurry) {
    _exit(static_cast<int>(ExitCode::kTemporary));
  }
  heard.signal = signal;
  errno = saved;
}

extern "C" void on_progress(int /*signal*/) {
  heard.progress = true;
}

}  // namespace

void listen_to_signals() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_stop;
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT})
    sigaction(signal, &action, nullptr);
  action.sa_handler = on_progress;
  sigaction(SIGUSR2, &action, nullptr);
}

bool take_progress_request() {
  return heard.progress.exchange(false);
}

bool StopRequest::requested() const {
  return heard.signal != 0 || watch_.seconds() >= seconds_;
}

void StopRequest::check() const {
  if (requested()) throw Stopped();
}

std::string StopRequest::reason() const {
  switch (heard.signal) {
    case SIGUSR1:
      return "SIGUSR1";
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    default:
      return requested() ? "the time limit" : "";
  }
}

}  // namespace bulksim
