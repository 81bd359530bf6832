#pragma once

#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"

namespace bulksim {

/// What a few tiles tell of a whole run.
struct Trial {
  double seconds = 0.0;          ///< expected for computing and writing all tiles
  double compute_seconds = 0.0;  ///< expected if the file system took everything at once
  double bytes_per_s = 0.0;      ///< of all ranks together
};

/// Computes tiles spread over this rank's share, at most 256 MiB for all ranks together, writes
/// them to an unnamed file on the file system of the output and adds up their block sums; looks for
/// their pairs where these are wanted, which are not written. A collective.
Trial run_trial(const JobConfig& config, const RunSetup& setup, JobContext context);

}  // namespace bulksim
