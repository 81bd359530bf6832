#pragma once

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "job/publish/publication.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// Compares the inputs of a result with those of the previous version. Throws Error (65) when a
/// fifth of the items is missing, or the share of empty rows grows by more than 1 %. Does nothing
/// without --guard.
void check_guard_of_inputs(const JobConfig& config, const Plan& plan, std::int64_t zero_rows,
                           const RunDirectory& run, FileCalls& calls);

/// With --guard, logs that the previous version was computed with another version of the
/// arithmetic.
void log_arithmetic_change(const JobConfig& config, const RunDirectory& run, FileCalls& calls,
                           Log& log);

/// The same as `check_guard_of_inputs`, and throws for values that are not scores.
void check_guard(const Publication& publication, const RunDirectory& run, FileCalls& calls);

}  // namespace bulksim
