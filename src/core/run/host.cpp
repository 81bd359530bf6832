#include "core/run/host.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace bulksim {

namespace {

/// State and start time of a process, from /proc/PID/stat; these fields follow the name in
/// parentheses.
struct ProcessState {
  char state = 'X';
  std::int64_t start_time = 0;
};

std::optional<ProcessState> state_of(std::int64_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  ProcessState process;
  rest >> process.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field)
    rest >> skipped;
  rest >> process.start_time;
  return rest ? std::optional(process) : std::nullopt;
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string link_target(const char* path) {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(path, target.data(), target.size());
  return length < 0 ? "" : std::string(target.data(), length);
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

ProcessInfo this_process() {
  const std::int64_t pid = ::getpid();
  return {host_name(), first_line("/proc/sys/kernel/random/boot_id"),
          link_target("/proc/self/ns/pid"), pid, state_of(pid).value_or(ProcessState{}).start_time};
}

bool is_running(std::int64_t pid, std::int64_t start_time) {
  const auto process = state_of(pid);
  return process && process->start_time == start_time && process->state != 'Z' &&
         process->state != 'X';
}

Clock steady_clock() {
  return {
      [] {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double>(since).count();
      },
      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

}  // namespace bulksim
