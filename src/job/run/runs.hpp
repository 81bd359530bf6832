#pragma once

#include <string>

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/run/resume.hpp"

namespace bulksim {

/// `run_compute` for a repair; `seed` may be empty.
std::string run_compute_seeded(const JobConfig& config, const SeedStaging& seed,
                               JobContext context);

/// The run of `run_compute_seeded` that fills the whole matrix, block sums, or both.
std::string run_matrix(const JobConfig& config, const SeedStaging& seed, JobContext context);

/// `run_compute` for a configuration with a filter: finds the requested pairs and publishes them as
/// one group of one HDF5 file, or as one file of another format.
std::string run_pairs(const JobConfig& config, const SeedStaging& seed, JobContext context);

}  // namespace bulksim
