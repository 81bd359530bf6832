#pragma once

#include <cstdint>

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// The block map of a run, estimated from groups of `stride` rows before anything is computed; at
/// every rank, the same for any number of them. Throws Error (64) when fine blocks are not a whole
/// number of groups. A collective.
BlockMap estimate_blocks(const JobConfig& config, const RunSetup& setup, std::int64_t stride,
                         JobContext context);

/// Estimates the block map of a run and leaves out the tiles without a block that its plan selects:
/// the plan gets the number of their cells. A collective.
void select_tiles(const JobConfig& config, RunSetup& setup, JobContext context);

}  // namespace bulksim
