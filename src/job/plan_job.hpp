#pragma once

#include <iosfwd>

#include "job/compute_job.hpp"
#include "job/config/job_config.hpp"

namespace bulksim {

enum class PlanFormat { kText, kJson };

/// Prints at rank 0 the output, memory and time of `run_compute` with the same configuration, and
/// leaves nothing behind. The time comes from computing a few tiles into an unnamed file of at most
/// 256 MiB on the file system of the output. A collective.
void run_plan(const JobConfig& config, PlanFormat format, JobContext context, std::ostream& out);

}  // namespace bulksim
