#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/comm/communicator.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/run_directory.hpp"

namespace bulksim {

/// What an earlier run, or earlier attempts of this one, have left to do; every kind of run has
/// this, and some have more.
struct WorkLeft {
  std::string result;   ///< not empty: published already, nothing is to do
  bool sealed = false;  ///< only the publication is to do
  int attempt = 0;
  std::int64_t resumed = 0;         ///< tiles done by earlier attempts
  std::vector<std::int64_t> to_do;  ///< numbers of tiles, ascending
};

/// Makes or takes up the staging folder, at rank 0, and removes unfinished work of other plans that
/// is too old. What lies in the folder when there are tiles to look at; otherwise nothing, and
/// `left` says why.
std::optional<Staged> take_up_staging(const JobConfig& config, const Plan& plan, RunDirectory& run,
                                      JobContext context, WorkLeft& left);

/// What rank 0 has decided, at every rank. A collective.
void share(WorkLeft& left, Communicator& comm);

}  // namespace bulksim
