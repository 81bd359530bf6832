#pragma once

#include <cstdint>
#include <string>

#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "job/work_left.hpp"

namespace bulksim {

/// What is left to do of a run that looks for pairs.
struct PairWorkLeft : WorkLeft {
  std::int64_t first_file = 0;  ///< number of the first rank's file of this attempt
};

/// The folder of runs of a plan, and one of its files.
std::string pair_runs_folder(const RunDirectory& run);
std::string pair_run_file(const RunDirectory& run, std::int64_t number);

/// Makes or takes up the staging folder: rank 0 reads the runs that are there and tells everybody
/// what is to do. A collective.
PairWorkLeft take_up_pair_work(const JobConfig& config, const Plan& plan, RunDirectory& run,
                               JobContext context);

}  // namespace bulksim
