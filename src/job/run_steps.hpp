#pragma once

#include <cstdint>
#include <string>

#include "bulksim/core/log.hpp"
#include "bulksim/job/compute_job.hpp"
#include "job/run_setup.hpp"

namespace bulksim {

// Steps that every kind of run takes.

/// Says what is going to be computed.
void announce(const RunSetup& setup, Log& log);

/// Says that there is nothing to do, and what to read.
void announce_published(const std::string& result, Log& log);

/// Ends all ranks alike when any has stopped, with an AgreedError (75). `done` are the tiles of
/// this rank, `resumed` those of earlier attempts. A collective.
void end_if_stopped(bool stopped, std::int64_t done, std::int64_t resumed, std::int64_t tiles,
                    JobContext context);

}  // namespace bulksim
