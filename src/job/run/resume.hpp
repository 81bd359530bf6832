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

/// What an earlier run, or earlier attempts of this one, have left to do; every kind of run has
/// this, and some have more.
struct WorkLeft {
  std::string result;      ///< not empty: published already, nothing is to do
  bool finalized = false;  ///< only the publication is to do
  int attempt = 0;
  std::int64_t resumed = 0;         ///< tiles done by earlier attempts
  std::vector<std::int64_t> to_do;  ///< numbers of tiles, ascending
};

/// Puts what is known of a result into a staging folder, before it is looked at.
using SeedStaging = std::function<void(RunDirectory& run, const Plan& plan, Staged staged)>;

/// What is left to do of a run that fills a matrix.
struct TilesLeft : WorkLeft {
  std::vector<Digest> digests;  ///< at rank 0: of the tiles that are done, by number
  std::int64_t rehashed = 0;    ///< tiles done by earlier attempts that were read again
  std::int64_t damaged = 0;     ///< of these, not as they were written
};

/// Whether the result of this plan is published; changes nothing. The path at every rank, or "".
std::string find_published(const JobConfig& config, const Plan& plan, const RunDirectory& run,
                           Communicator& comm);

/// Takes the output for this run: the folder, and its lease at rank 0 (null elsewhere, and without
/// durability). Throws CollectiveError (73) when somebody else has it.
std::unique_ptr<Lease> take_output(const JobConfig& config, RunDirectory& run, JobContext context);

/// Makes or takes up the staging folder: rank 0 reads the journals, looks at what can be believed,
/// lays out what is missing, and tells everybody what is to do.
TilesLeft resume_tiles(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       RunDirectory& run, int threads, const SeedStaging& seed, JobContext context);

/// What is left to do of a run that looks for pairs.
struct PairsLeft : WorkLeft {
  std::int64_t first_file = 0;  ///< number of the first rank's file of this attempt
};

/// The folder of runs of a plan, and one of its files.
std::string pair_segments_folder(const RunDirectory& run);
std::string pair_segment_file(const RunDirectory& run, std::int64_t number);

/// Makes or takes up the staging folder: rank 0 reads the runs that are there and tells everybody
/// what is to do. A collective.
PairsLeft resume_pairs(const JobConfig& config, const Plan& plan, RunDirectory& run,
                       JobContext context);

}  // namespace bulksim
