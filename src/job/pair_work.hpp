#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/run_directory.hpp"

namespace bulksim {

/// What earlier attempts have left to do of a run that looks for pairs.
struct PairWorkLeft {
  std::string result;   ///< not empty: published already, nothing is to do
  bool sealed = false;  ///< only the publication is to do
  int attempt = 0;
  std::int64_t resumed = 0;     ///< tiles done by earlier attempts
  std::int64_t first_file = 0;  ///< number of the first rank's file of this attempt
  std::vector<std::int64_t> to_do;
};

/// The folder of runs of a plan, and one of its files.
std::string pair_runs_folder(const RunDirectory& run);
std::string pair_run_file(const RunDirectory& run, std::int64_t number);

/// Makes or takes up the staging folder: rank 0 reads the runs that are there and tells everybody
/// what is to do. A collective.
PairWorkLeft take_up_pair_work(const JobConfig& config, const Plan& plan, RunDirectory& run,
                               JobContext context);

}  // namespace bulksim
