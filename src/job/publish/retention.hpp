#pragma once

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// Removes versions beyond the limit, after a publication. A failure is a warning.
void retire_old_versions(const JobConfig& config, const RunDirectory& run, JobContext context);

}  // namespace bulksim
