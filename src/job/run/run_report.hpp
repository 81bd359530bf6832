#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/mpi_environment.hpp"
#include "core/run/log.hpp"
#include "core/run/phase_timer.hpp"
#include "job/config/job_config.hpp"
#include "job/plan/plan.hpp"
#include "job/plan/schedule.hpp"
#include "job/run/compute_tiles.hpp"
#include "job/run/prepare_run.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// The report of a run. It contains times and hosts, so it is not in the manifest.
struct RunReport {
  std::string backend;
  std::vector<std::string> devices;   ///< of all ranks; none: the CPU
  std::string nccl;                   ///< used for sums instead of MPI, else empty: "NCCL 2.28.9"
  std::int64_t recomputed_tiles = 0;  ///< of all ranks after `collect`
  std::int64_t computed_tiles = 0;    ///< of all ranks after `collect`, in this attempt
  std::int64_t resumed_tiles = 0;     ///< done by earlier attempts
  std::int64_t rehashed_tiles = 0;    ///< of these, read again
  std::int64_t damaged_tiles = 0;     ///< of these, different from what was written
  std::int64_t zero_tiles = 0;  ///< computed tiles with only zeros; of all ranks after `collect`
  int attempt = 1;
  std::int64_t peak_memory = 0;     ///< bytes, the maximum over the ranks
  std::int64_t planned_memory = 0;  ///< bytes, the maximum over the ranks
  std::int64_t output_bytes = 0;
  std::int64_t useful_multiply_adds = 0;
  int ranks = 1;
  int threads = 1;  ///< of rank 0
  JobConfig config;
  Plan plan;
  Surveys surveys;
  std::string mpi;

  /// Sets the results of this rank.
  void take(const TileOutcome& outcome);
  /// A collective: sums and maxima over the ranks.
  void collect(const JobConfig& job_config, const RunSetup& setup, MpiEnvironment& environment);
  std::string to_json(const PhaseTimer& timer) const;
  /// Logs the last lines of a run.
  void summarize(const PhaseTimer& timer, const std::string& result, Log& log) const;
};

}  // namespace bulksim
