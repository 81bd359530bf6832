#pragma once

#include <iosfwd>
#include <string>

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"

namespace bulksim {

/// Computes the similarity matrix and publishes it; returns the path that a reader opens (at rank
/// 0). All ranks call this together.
///
/// Throws CollectiveError for failures that all ranks know of, and any other exception when only
/// this rank has failed and the others are still working. After a stop request, every rank ends at
/// its next tile border and all throw CollectiveError (75), which reports the progress of the run.
std::string run_compute(const JobConfig& config, JobContext context);

/// Computes pairs into a temporary folder and copies the finished text to a stream, so that nothing
/// is printed before all of it is there. Throws Error (64) with more than one rank.
void compute_to_stream(const JobConfig& config, JobContext context, std::ostream& out);

}  // namespace bulksim
