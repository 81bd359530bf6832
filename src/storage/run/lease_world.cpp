#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "storage/run/lease.hpp"

namespace bulksim {

namespace {

/// State and start time of a process, as /proc/PID/stat has them behind the name in brackets.
struct ProcessIdentity {
  char state = 'X';
  std::int64_t start_time = 0;
};

std::optional<ProcessIdentity> info_of(std::int64_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  ProcessIdentity info;
  rest >> info.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field)
    rest >> skipped;
  rest >> info.start_time;
  return rest ? std::optional(info) : std::nullopt;
}

bool is_running(std::int64_t pid, std::int64_t start_time) {
  const auto info = info_of(pid);
  return info && info->start_time == start_time && info->state != 'Z' && info->state != 'X';
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
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

LeaseHolder this_process() {
  LeaseHolder self;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  self.host = host.data();
  self.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  self.pid_namespace = link_target("/proc/self/ns/pid");
  self.pid = ::getpid();
  self.start_time = info_of(self.pid).value_or(ProcessIdentity{}).start_time;
  self.slurm_job = variable("SLURM_JOB_ID");
  self.slurm_restart = std::atoll(variable("SLURM_RESTART_COUNT").c_str());
  return self;
}

}  // namespace

LeaseWorld this_machine() {
  LeaseWorld world;
  world.self = this_process();
  world.runs = is_running;
  world.now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  world.wait = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return world;
}

Liveness liveness_of(const LeaseHolder& holder, const LeaseWorld& world) {
  const LeaseHolder& self = world.self;
  const bool same_machine = !holder.boot_id.empty() && holder.boot_id == self.boot_id &&
                            holder.pid_namespace == self.pid_namespace;
  if (same_machine) {
    // the own number means that it was given out again
    const bool alive = holder.pid != self.pid && world.runs(holder.pid, holder.start_time);
    return alive ? Liveness::kAlive : Liveness::kDead;
  }
  const bool earlier_start = !holder.slurm_job.empty() && holder.slurm_job == self.slurm_job &&
                             holder.slurm_restart < self.slurm_restart;
  return earlier_start ? Liveness::kDead : Liveness::kUnknown;
}

}  // namespace bulksim
