#include "job/run_frame.hpp"

#include <ctime>

#include "bulksim/job/agreement.hpp"
#include "job/guarded_work.hpp"
#include "job/metrics.hpp"
#include "job/publication.hpp"
#include "job/run_steps.hpp"
#include "job/run_work.hpp"

namespace bulksim {

void RunFrame::set_up() {
  RunDirectory any_plan(context.calls, config.output, Digest{});
  if (needs_import(config, context)) take(any_plan);
  setup = set_up_run(config, any_plan.imports_folder(), context, timer);
  report.surveys = setup.surveys;
  announce(setup, context.log);
  timer.begin("lay out");
  directory.emplace(context.calls, config.output, plan().id());
}

std::string RunFrame::find_published() {
  std::string result = bulksim::find_published(config, plan(), *directory, comm());
  if (result.empty()) return result;
  if (lease) remove_tree(context.calls, directory->imports_folder());
  announce_published(result, context.log);
  return result;
}

void RunFrame::take_output() {
  take(*directory);
}

void RunFrame::take(RunDirectory& output) {
  if (!taken) lease = bulksim::take_output(config, output, context);
  taken = true;
}

void RunFrame::begin_attempt(const WorkLeft& left) {
  if (context.failures != nullptr) {
    context.failures->open(directory->errors_folder(), left.attempt);
  }
  report.attempt = left.attempt;
  report.resumed_tiles = left.resumed;
  if (!left.result.empty()) announce_published(left.result, context.log);
}

void RunFrame::begin(const std::string& phase) {
  timer.begin(phase);
  if (lease) lease->set_phase(phase);
}

std::function<void()> RunFrame::before_tile() const {
  if (!lease) return nullptr;
  return [this] {
    if (lease->lost()) lease->check();
  };
}

std::function<void()> RunFrame::still_ours() const {
  return [this] {
    if (lease) lease->check();
  };
}

std::string RunFrame::publish(const std::function<std::string()>& publish_as_rank_0) {
  timer.begin("publish");
  report.collect(config, setup, context.mpi);
  std::string result;
  together(comm(), [&] {
    if (comm().rank() != 0) return;
    timer.end();
    if (lease) lease->set_phase("publish");
    result = publish_as_rank_0();
    retire_old_versions(config, *directory, context);
  });
  if (comm().rank() == 0) report.summarize(timer, result, context.log);
  return result;
}

void RunFrame::tell_metrics(ExitCode code) {
  if (comm().rank() != 0) return;
  const bool untouched = code == ExitCode::kCannotCreate || (directory && !lease);
  timer.end();
  write_metrics(config, {code, watch.seconds(), std::time(nullptr), 0, timer, report},
                untouched ? MetricsPlace::kFileOnly : MetricsPlace::kOutputToo, context);
}

std::string run_and_tell(RunFrame& frame, const std::function<std::string()>& work) {
  try {
    std::string result = work();
    frame.tell_metrics(ExitCode::kOk);
    return result;
  } catch (const std::exception& failure) {
    frame.tell_metrics(error_of(failure).code());
    throw;
  }
}

}  // namespace bulksim
