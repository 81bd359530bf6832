#include "job/process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/mpi_environment.hpp"
#include "storage/hdf5_environment.hpp"

namespace bulksim {

namespace {

void set_core_limit(rlim_t most) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_CORE, &limit);
}

/// Chunks of items are allocated and freed continually: a page returned to the system costs more
/// than the write to it. Larger blocks are returned at once, so that a rank uses what its plan
/// counts.
void hold_on_to_memory() {
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

/// Ranks that outlived their launcher would run beside those of the next attempt.
void die_with_launcher() {
  const Launch launch = detect_launch([](const char* name) { return std::getenv(name); });
  if (launch == Launch{}) return;
  const pid_t launcher = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) std::raise(SIGKILL);  // it has already died
}

}  // namespace

void allow_core_dumps() {
  set_core_limit(RLIM_INFINITY);
}

void prepare_process(Log& log) {
  hold_on_to_memory();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  set_core_limit(0);
  die_with_launcher();
  for (const auto& [name, value] : shield_hdf5_from_environment()) {
    log.info("environment", name + "='" + value + "' in the environment has no effect here");
  }
}

}  // namespace bulksim
