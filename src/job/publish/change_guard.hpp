#pragma once

#include "bulksim/core/file.hpp"
#include "job/publish/publication.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// Holds the inputs of a result against those of the version before it. Throws Error (65) for a
/// fifth of the items less, or over 1 % zero rows more. Does nothing without --guard.
void check_guard_of_inputs(const JobConfig& config, const Plan& plan, std::int64_t zero_rows,
                           const RunDirectory& run, FileCalls& calls);

/// The same, and throws for values that are no cosine.
void check_guard(const Publication& publication, const RunDirectory& run, FileCalls& calls);

}  // namespace bulksim
