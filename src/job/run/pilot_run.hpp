#pragma once

#include <string>

#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"

namespace bulksim {

/// The estimate of a whole run from a few tiles.
struct PilotRun {
  double seconds = 0.0;          ///< expected for computing, writing and merging all tiles
  double compute_seconds = 0.0;  ///< expected if writing took no time
  double bytes_per_s = 0.0;      ///< of all ranks together
};

/// Computes tiles spread over this rank's share, at most 256 MiB for all ranks together, and does
/// with them what a run does: writes them to an unnamed file on the file system of the output and
/// adds up their block sums, or writes their pairs to files in `folder`, which must be temporary,
/// and merges them. A collective.
PilotRun run_pilot(const JobConfig& config, const RunSetup& setup, const std::string& folder,
                   JobContext context);

}  // namespace bulksim
