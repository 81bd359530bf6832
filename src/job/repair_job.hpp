#pragma once

#include <string>

#include "job/compute_job.hpp"
#include "job/config/job_config.hpp"

namespace bulksim {

/// Makes a new version of a damaged one: intact parts are shared, intact tiles copied, and damaged
/// tiles recomputed from the inputs in its report, or from those of `config`. Returns the path that
/// a reader opens (at rank 0); an intact version is left unchanged. A collective; throws as
/// `run_compute`, and Error (65) when these are not the inputs of the version.
std::string run_repair(const JobConfig& config, JobContext context);

}  // namespace bulksim
