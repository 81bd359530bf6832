#include "core/run/memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

namespace bulksim {

namespace {

constexpr double kShareOfMemory = 0.7;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// "Name:   123 kB" in a file of /proc, in bytes.
std::int64_t proc_bytes(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

/// Memory that the control group still allows; version 2, then version 1.
std::int64_t cgroup_memory_left() {
  const std::string root = "/sys/fs/cgroup/";
  for (const auto& [limit, used] :
       {std::pair{"memory.max", "memory.current"},
        std::pair{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"}}) {
    const auto most = number_in(root + limit);
    if (most && *most < kUnlimited / 2) return *most - number_in(root + used).value_or(0);
  }
  return kUnlimited;
}

}  // namespace

std::int64_t memory_share() {
  const std::int64_t left =
      std::min(proc_bytes("/proc/meminfo", "MemAvailable"), cgroup_memory_left());
  return static_cast<std::int64_t>(kShareOfMemory * static_cast<double>(left));
}

std::int64_t resident_memory() {
  return proc_bytes("/proc/self/status", "VmRSS");
}

std::int64_t peak_memory() {
  return proc_bytes("/proc/self/status", "VmHWM");
}

std::optional<std::int64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

}  // namespace bulksim
