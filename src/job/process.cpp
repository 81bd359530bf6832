#include "bulksim/job/process.hpp"

#include <csignal>
#include <string>

#include <malloc.h>

#include "bulksim/storage/hdf5_environment.hpp"

namespace bulksim {

void prepare_process(Log& log) {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const auto& [name, value] : shield_hdf5_from_environment()) {
    log.info("environment", name + "='" + value + "' in the environment has no effect here");
  }
}

}  // namespace bulksim
