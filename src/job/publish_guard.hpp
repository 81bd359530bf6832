#pragma once

#include "bulksim/core/file.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "job/publication.hpp"

namespace bulksim {

/// Holds a finished result against itself and against the version before it. Throws Error (65) for
/// a fifth of the items less, values that are no cosine, or over 1 % zero rows more. Does nothing
/// without --guard.
void check_guard(const Publication& publication, const RunDirectory& run, FileCalls& calls);

}  // namespace bulksim
