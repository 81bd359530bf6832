#include "job/run/run_session.hpp"

#include <array>
#include <ctime>
#include <utility>

#include "comm/collective_error.hpp"
#include "job/input/row_ids.hpp"
#include "job/publish/change_guard.hpp"
#include "job/publish/publication.hpp"
#include "job/publish/retention.hpp"
#include "job/run/metrics.hpp"
#include "job/run/resume.hpp"
#include "job/sinks/watched_sink.hpp"

namespace bulksim {

namespace {

/// Logs that there is nothing to do, and what to read.
void log_published(const std::string& result, Log& log);
void log_published(const std::string& result, Log& log) {
  log.info("already_there",
           "the same result is published already: nothing to do (--recompute makes a new version); "
           "read '" +
               result + "'",
           {{"result", result}});
}

}  // namespace

void RunSession::set_up() {
  const Overwrite overwrite = config.overwrite ? Overwrite::kAnyFile : Overwrite::kResults;
  RunDirectory any_plan(context.calls, config.output, Digest{}, overwrite);
  if (needs_import(config, context)) take(any_plan);
  setup = set_up_run(config, any_plan.imports_folder(), context, timer);
  report.surveys = setup.surveys;
  log_plan(setup, context.log);
  timer.begin("lay out");
  directory.emplace(context.calls, config.output, plan().id(), overwrite);
}

std::string RunSession::find_published() {
  std::string result = bulksim::find_published(config, plan(), *directory, context.calls, comm());
  if (result.empty()) return result;
  if (lease) remove_tree(context.calls, directory->imports_folder());
  log_published(result, context.log);
  return result;
}

void RunSession::take_output() {
  take(*directory);
}

void RunSession::take(RunDirectory& output) {
  if (taken) return;
  TakenOutput mine = bulksim::take_output(config, output, context);
  lease = std::move(mine.lease);
  claim_ = mine.claim;
  taken = true;
}

void RunSession::begin_attempt(const WorkLeft& left) {
  has_begun_ = true;
  if (context.failures != nullptr) {
    context.failures->open(directory->errors_folder(), left.attempt);
  }
  report.attempt = left.attempt;
  report.resumed_tiles = left.resumed;
  if (!left.result.empty()) log_published(left.result, context.log);
}

void RunSession::begin(const std::string& phase) {
  timer.begin(phase);
  if (lease) lease->set_phase(phase);
}

std::function<void()> RunSession::before_tile() const {
  if (!lease) return nullptr;
  return [this] {
    if (lease->lost()) lease->check();
  };
}

std::function<void()> RunSession::still_ours() const {
  return [this] {
    if (lease) lease->check();
  };
}

std::string RunSession::publish(const std::string& first_phase,
                                const std::function<std::string()>& publish_as_rank_0) {
  begin(first_phase);
  report.collect(config, setup, context.mpi);
  std::string result;
  run_collectively(comm(), [&] {
    if (comm().rank() != 0) return;
    log_arithmetic_change(config, *directory, context.calls, context.log);
    result = publish_as_rank_0();
    retire_old_versions(config, *directory, context);
  });
  timer.end();
  if (comm().rank() == 0) report.summarize(timer, result, context.log);
  return result;
}

void RunSession::withdraw(ExitCode code) {
  const bool is_ours = taken && code != ExitCode::kCannotCreate;
  if (!is_ours || has_begun_ || comm().rank() != 0) return;
  try {
    if (lease) lease->check();
    RunDirectory output(context.calls, config.output, directory ? plan().id() : Digest{});
    if (code == ExitCode::kTemporary && output.has_imports()) return;  // for the next run
    output.withdraw(claim_);
  } catch (const std::exception& failure) {
    context.log.warning("left_behind", failure.what());
  }
}

void RunSession::report_exit(ExitCode code) {
  if (comm().rank() != 0) return;
  const bool untouched = code == ExitCode::kCannotCreate || (directory && !lease);
  timer.end();
  write_metrics(config, {code, watch.seconds(), std::time(nullptr), 0, timer, report},
                untouched ? MetricsPlace::kFileOnly : MetricsPlace::kOutputToo, context);
}

std::string run_with_metrics(RunSession& session, const std::function<std::string()>& work) {
  try {
    std::string result = work();
    session.report_exit(ExitCode::kOk);
    return result;
  } catch (const std::exception& failure) {
    const ExitCode code = error_of(failure).code();
    session.withdraw(code);
    session.report_exit(code);
    throw;
  }
}

ResultIds reread_result_ids(const RunSession& session) {
  const JobConfig& config = session.config;
  FileCalls& calls = session.context.calls;
  const SourcePair& inputs = session.setup.inputs;
  return {reread_ids(calls, *inputs.queries, config.query_ids_path(), session.plan().query_ids),
          reread_ids(calls, *inputs.items, config.item_ids, session.plan().item_ids)};
}

void end_if_stopped(bool stopped, std::int64_t done, std::int64_t resumed, std::int64_t tiles,
                    JobContext context) {
  std::array<std::int64_t, 2> sums{stopped ? 1 : 0, done};
  context.mpi.world().all_reduce_sum(sums);
  if (sums[0] == 0) return;
  const std::string reason = context.stop.reason();
  throw CollectiveError(ExitCode::kTemporary,
                        "stopped at " + std::to_string(100 * (resumed + sums[1]) / tiles) + " %" +
                            (reason.empty() ? "" : " after " + reason) +
                            "; run the same command to resume");
}

}  // namespace bulksim
