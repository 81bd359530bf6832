#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/lease.hpp"
#include "bulksim/storage/recovery.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "job/work_left.hpp"

namespace bulksim {

/// Puts what is known of a result into a staging folder, before it is looked at.
using SeedStaging = std::function<void(RunDirectory& run, const Plan& plan, Staged staged)>;

/// `run_compute` for a repair; `seed` may be empty.
std::string run_compute_seeded(const JobConfig& config, const SeedStaging& seed,
                               JobContext context);

/// What is left to do of a run that fills a matrix.
struct RunWork : WorkLeft {
  std::vector<Digest> digests;  ///< at rank 0: of the tiles that are done, by number
  std::int64_t rehashed = 0;    ///< tiles done by earlier attempts that were read again
  std::int64_t damaged = 0;     ///< of these, not as they were written
};

/// Whether the result of this plan is published; changes nothing. The path at every rank, or "".
std::string find_published(const JobConfig& config, const Plan& plan, const RunDirectory& run,
                           Communicator& comm);

/// Takes the output for this run: the folder, and its lease at rank 0 (null elsewhere, and without
/// durability). Throws AgreedError (73) when somebody else has it.
std::unique_ptr<Lease> take_output(const JobConfig& config, RunDirectory& run, JobContext context);

/// Makes or takes up the staging folder: rank 0 reads the journals, looks at what can be believed,
/// lays out what is missing, and tells everybody what is to do.
RunWork take_up_work(const JobConfig& config, const Plan& plan, const PartSet& parts,
                     RunDirectory& run, int threads, const SeedStaging& seed, JobContext context);

}  // namespace bulksim
