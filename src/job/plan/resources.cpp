#include "job/plan/resources.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string>

#include <sched.h>
#include <unistd.h>

#include "bulksim/core/types.hpp"
#include "core/run/host.hpp"
#include "core/run/memory.hpp"

namespace bulksim {

namespace {

/// Cores that the quota of the control group allows.
int cgroup_cores() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (v2 >> quota >> period && quota > 0 && period > 0) {
    return std::max(1, static_cast<int>(std::ceil(quota / period)));
  }
  const auto v1_quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const auto v1_period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1_quota && v1_period && *v1_quota > 0 && *v1_period > 0) {
    return static_cast<int>(std::max<std::int64_t>(1, divide_up(*v1_quota, *v1_period)));
  }
  return std::numeric_limits<int>::max();
}

struct Affinity {
  int cores = 1;
  std::string mask;  ///< host and cores, to compare
};

Affinity affinity() {
  const std::string host = host_name() + ' ';
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return {static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), host + "all"};
  }
  Affinity result{CPU_COUNT(&set), host};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) result.mask += std::to_string(core) + ',';
  }
  return result;
}

/// Number of ranks with the same text as this one.
int ranks_alike(Communicator& comm, const std::string& text) {
  std::ostringstream all;
  for (const auto& one : comm.gather(std::as_bytes(std::span(text)))) {
    all << std::string(reinterpret_cast<const char*>(one.data()), one.size()) << '\n';
  }
  std::istringstream lines(broadcast_text(comm, all.str()));
  int alike = 0;
  std::string line;
  while (std::getline(lines, line))
    alike += line == text;
  return std::max(alike, 1);
}

}  // namespace

RankResources survey_resources(std::optional<int> threads, std::optional<std::int64_t> memory,
                               Communicator& comm) {
  const Affinity mine = affinity();
  const int same_mask = ranks_alike(comm, mine.mask);
  const int same_host = ranks_alike(comm, mine.mask.substr(0, mine.mask.find(' ')));
  RankResources resources;
  resources.cores = std::min(mine.cores, cgroup_cores());
  resources.threads = threads.value_or(std::max(1, resources.cores / same_mask));
  resources.held = resident_memory();
  resources.peak = peak_memory();
  resources.memory = memory.value_or(memory_share() / same_host);
  return resources;
}

}  // namespace bulksim
