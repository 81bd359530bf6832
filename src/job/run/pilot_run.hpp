#pragma once

#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"

namespace bulksim {

/// The estimate of a whole run from a few tiles.
struct PilotRun {
  double seconds = 0.0;          ///< expected for computing and writing all tiles
  double compute_seconds = 0.0;  ///< expected if writing took no time
  double bytes_per_s = 0.0;      ///< of all ranks together
};

/// Computes tiles spread over this rank's share, at most 256 MiB for all ranks together, writes
/// them to an unnamed file on the file system of the output and adds up their block sums; searches
/// their pairs, without writing them, where pairs are requested. A collective.
PilotRun run_pilot(const JobConfig& config, const RunSetup& setup, JobContext context);

}  // namespace bulksim
