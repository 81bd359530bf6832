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

/// What every kind of run has around its work, in the order in which it happens: setup, output and
/// lease, attempt, publication, metrics.
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
  bool taken = false;                     ///< the output is ours

  Communicator& comm() const { return context.mpi.world(); }
  const Plan& plan() const { return setup.plan; }
  /// Imports, surveys and plans; a place for imports is taken in the output first. A collective.
  void set_up();
  /// The path of the result when it is published already, else "". A collective.
  std::string find_published();
  /// Takes the output, if that has not happened yet. A collective.
  void take_output();
  /// Tells failures and the report which attempt this is, and the log when nothing is left to do.
  void begin_attempt(const WorkLeft& left);
  /// The phase that timer, watchdog and lease show.
  void begin(const std::string& phase);
  /// Throws when the lease is lost; empty without one.
  std::function<void()> before_tile() const;
  std::function<void()> still_ours() const;
  /// Collects the report, lets rank 0 publish and sums up. The path of the result at rank 0. A
  /// collective.
  std::string publish(const std::function<std::string()>& publish_as_rank_0);
  /// How the run has ended, whether it did well or not.
  void report_exit(ExitCode code);

 private:
  void take(RunDirectory& output);
};

/// Does the work and tells the metrics, whatever becomes of it.
std::string run_with_metrics(RunSession& session, const std::function<std::string()>& work);

/// The ids of the rows that the plan of a run knows. Throws Error (75) when they are others by
/// now.
ResultIds reread_result_ids(const RunSession& session);

/// Ends all ranks alike when any has stopped, with an CollectiveError (75). `done` are the tiles of
/// this rank, `resumed` those of earlier attempts. A collective.
void end_if_stopped(bool stopped, std::int64_t done, std::int64_t resumed, std::int64_t tiles,
                    JobContext context);

}  // namespace bulksim
