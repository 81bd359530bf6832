#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/run/phase_timer.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/resume.hpp"
#include "job/run/run_report.hpp"
#include "storage/run/lease.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// The steps around the work of every kind of run, in their order: setup, output and lease,
/// attempt, publication, metrics.
struct RunSession {
  RunSession(const JobConfig& job_config, JobContext job_context)
      : config(job_config), context(job_context), timer(job_context.watchdog) {}

  const JobConfig& config;
  JobContext context;
  Stopwatch watch;
  PhaseTimer timer;
  RunReport report;
  RunSetup setup;
  std::optional<RunDirectory> directory;  ///< of the plan
  std::unique_ptr<Lease> lease;           ///< at rank 0, with durability
  bool taken = false;                     ///< whether this run has the output

  Communicator& comm() const { return context.mpi.world(); }
  const Plan& plan() const { return setup.plan; }
  /// Imports, surveys and plans; a folder for imports is created in the output first. A collective.
  void set_up();
  /// The path of the result when it is published already, else "". A collective.
  std::string find_published();
  /// Takes the output, unless it has been taken already. A collective.
  void take_output();
  /// Sets the attempt in the failure record and the report, and logs when nothing is left to do.
  void begin_attempt(const WorkLeft& left);
  /// Sets the phase of timer, watchdog and lease.
  void begin(const std::string& phase);
  /// Throws when the lease is lost; empty without one.
  std::function<void()> before_tile() const;
  std::function<void()> still_ours() const;
  /// Collects the report, publishes at rank 0, beginning with phase `first_phase`, and logs the
  /// summary. Returns the path of the result at rank 0. A collective.
  std::string publish(const std::string& first_phase,
                      const std::function<std::string()>& publish_as_rank_0);
  /// Removes what was created in the output by a run that failed with `code` before it computed
  /// anything. Never throws: a failure is a warning.
  void withdraw(ExitCode code);
  /// Writes the metrics of a run that ended with `code`.
  void report_exit(ExitCode code);

 private:
  void take(RunDirectory& output);

  Claim claim_ = Claim::kOurs;
  bool has_begun_ = false;  ///< an attempt
};

/// Does the work and writes the metrics, also when it fails.
std::string run_with_metrics(RunSession& session, const std::function<std::string()>& work);

/// The ids of the rows in the plan of a run. Throws Error (75) when they have changed since it was
/// made.
ResultIds reread_result_ids(const RunSession& session);

/// Throws CollectiveError (75) at all ranks when any has stopped. `done` are the tiles of this
/// rank, `resumed` those of earlier attempts. A collective.
void end_if_stopped(bool stopped, std::int64_t done, std::int64_t resumed, std::int64_t tiles,
                    JobContext context);

}  // namespace bulksim
