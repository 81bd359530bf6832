#pragma once

#include <string>

#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"
#include "job/run_work.hpp"

namespace bulksim {

/// The run of `run_compute_seeded` that fills the whole matrix, block sums, or both.
std::string run_matrix(const JobConfig& config, const SeedStaging& seed, JobContext context);

}  // namespace bulksim
