#pragma once

#include <string>

#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"

namespace bulksim {

/// `run_compute` for a configuration with a cut: finds the pairs that are wanted and publishes them
/// as one group of one HDF5 file, or as one file of another kind.
std::string run_pairs(const JobConfig& config, JobContext context);

}  // namespace bulksim
