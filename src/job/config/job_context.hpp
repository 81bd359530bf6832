#pragma once

#include "bulksim/core/file.hpp"
#include "comm/mpi_environment.hpp"
#include "core/run/log.hpp"
#include "core/run/stop_request.hpp"
#include "core/run/watchdog.hpp"
#include "job/config/failure_record.hpp"

namespace bulksim {

/// The services of the process that a job uses.
struct JobContext {
  MpiEnvironment& mpi;
  FileCalls& calls;
  Log& log;
  const StopRequest& stop = kOnlySignals;
  Watchdog* watchdog = nullptr;       ///< null: not watched
  FailureRecord* failures = nullptr;  ///< null: not recorded
};

}  // namespace bulksim
