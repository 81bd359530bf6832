#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "comm/communicator.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/plan/plan.hpp"
#include "storage/run/lease.hpp"
#include "storage/run/recovery.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// The work left over by an earlier run, or by earlier attempts of this one; common to all kinds of
/// runs.
struct WorkLeft {
  std::string result;      ///< not empty: published already, nothing to do
  bool finalized = false;  ///< only the publication is left
  int attempt = 0;
  std::int64_t resumed = 0;         ///< tiles done by earlier attempts
  std::vector<std::int64_t> to_do;  ///< numbers of tiles, ascending
};

/// Copies the known parts of a result into a staging folder, before the folder is checked.
using SeedStaging = std::function<void(RunDirectory& run, const Plan& plan, Staged staged)>;

/// The work left in a run that fills a matrix.
struct TilesLeft : WorkLeft {
  std::vector<Digest> digests;  ///< at rank 0: of the tiles that are done, by number
  std::int64_t rehashed = 0;    ///< tiles done by earlier attempts that were read again
  std::int64_t damaged = 0;     ///< of these, different from what was written
};

/// The path of the published result of this plan, at every rank, or "". Changes nothing. Throws
/// CollectiveError (65), with what to do, when it is damaged.
std::string find_published(const JobConfig& config, const Plan& plan, const RunDirectory& run,
                           FileCalls& calls, Communicator& comm);

/// The output of a run that has taken it.
struct TakenOutput {
  std::unique_ptr<Lease> lease;  ///< at rank 0, with durability
  Claim claim = Claim::kOurs;
};

/// Takes the output for this run: the folder, and its lease. Throws CollectiveError (73) when
/// another run has it.
TakenOutput take_output(const JobConfig& config, RunDirectory& run, JobContext context);

/// Creates or resumes the staging folder: rank 0 reads the journals, checks the tiles, preallocates
/// what is missing, and sends the work left to all ranks.
TilesLeft resume_tiles(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       RunDirectory& run, int threads, const SeedStaging& seed, JobContext context);

/// The work left in a run that searches pairs.
struct PairsLeft : WorkLeft {
  std::int64_t first_file = 0;  ///< number of the first rank's file of this attempt
};

/// The folder of the runs of pairs of a plan, and one of its files.
std::string pair_runs_folder(const RunDirectory& run);
std::string pair_run_file(const RunDirectory& run, std::int64_t number);

/// Creates or resumes the staging folder: rank 0 reads the existing runs and sends the work
/// left to all ranks. A collective.
PairsLeft resume_pairs(const JobConfig& config, const Plan& plan, RunDirectory& run,
                       const SeedStaging& seed, JobContext context);

}  // namespace bulksim
