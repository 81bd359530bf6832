#pragma once

#include <string>

#include "bulksim/comm/mpi_environment.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/log.hpp"
#include "bulksim/core/stop_request.hpp"
#include "bulksim/core/watchdog.hpp"
#include "bulksim/job/failure_record.hpp"
#include "bulksim/job/job_config.hpp"

namespace bulksim {

/// What a job needs of the process it runs in.
struct JobContext {
  MpiEnvironment& mpi;
  FileCalls& calls;
  Log& log;
  const StopRequest& stop = kOnlySignals;
  Watchdog* watchdog = nullptr;       ///< or nobody watches
  FailureRecord* failures = nullptr;  ///< or nothing is recorded
};

/// Computes the similarity matrix and publishes it; returns the path that a reader opens (at rank
/// 0). All ranks call this together.
///
/// Throws AgreedError for what all ranks know of, and any other exception when only this rank has
/// failed and the others are still at work. After a request to stop, every rank ends at its next
/// tile border and all throw AgreedError (75), which says how far the run is.
std::string run_compute(const JobConfig& config, JobContext context);

}  // namespace bulksim
