#include "distributed.hpp"

#include <atomic>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>

#include "bulksim/core/file.hpp"
#include "cli/config_file.hpp"
#include "cli/help.hpp"
#include "cli/standard_options.hpp"
#include "comm/collective_error.hpp"
#include "comm/mpi_environment.hpp"
#include "core/files/failpoint.hpp"
#include "core/files/watched_calls.hpp"
#include "core/run/log.hpp"
#include "core/run/phase_timer.hpp"
#include "core/run/stop_request.hpp"
#include "core/run/watchdog.hpp"
#include "job/config/deadlines.hpp"
#include "job/config/failure_record.hpp"
#include "job/process.hpp"

namespace bulksim {

namespace {

/// The parsed command line, or its error, which the ranks report together once MPI has started.
struct CommandLine {
  std::optional<OptionValues> options;
  LogOptions log;
  Deadlines deadlines;
  std::exception_ptr failure;
};

CommandLine read_command_line(const CommandSyntax& syntax, const std::vector<std::string>& words) {
  CommandLine line;
  try {
    line.options = parse_options(syntax, words);
    line.log = log_options(*line.options);
    line.deadlines = parse_deadlines(line.options->text("deadlines"));
    if (line.options->flag("core")) allow_core_dumps();
  } catch (const Error&) {
    line.failure = std::current_exception();
  }
  return line;
}

/// The text that --help, --help-all or --print-config ask for instead of a run.
std::string requested_text(const CommandSyntax& syntax, const OptionValues& options) {
  std::string text = requested_help(syntax, options);
  if (!text.empty() || !options.flag("print-config")) return text;
  for (const auto& [name, value] : options.all()) {
    if (is_setting(name)) text += name + " = " + value + '\n';
  }
  return text;
}

/// The log, failure record and watchdog with which a process ends, at every kind of failure.
class Supervision {
 public:
  explicit Supervision(const CommandLine& line)
      : log(line.log),
        failures(system_file_calls()),
        watchdog(line.deadlines, {[this](const std::string& sentence, const Location& where) {
                                    log_failure("stuck", ExitCode::kUnavailable, sentence, 0,
                                                where);
                                  },
                                  [this] { end(ExitCode::kUnavailable); }}),
        calls(make_watched_calls(with_failpoints(system_file_calls()), watchdog)) {}

  void met(MpiEnvironment& mpi) {
    log.set_rank(mpi.world().rank(), mpi.world().size());
    failures.set_rank(mpi.world().rank());
    mpi_ = &mpi;
  }

  /// All ranks know of the failure: rank 0 reports it.
  int fail_collectively(const CollectiveError& error) {
    if ((*mpi_).world().rank() == 0) {
      log_failure("failed", error.code(), error.what(), error.error_number(), watchdog.location());
    }
    return (*mpi_).exit_status(error.code());
  }

  /// A failure of this rank alone: the others are working or wait for it, so the job is aborted.
  [[noreturn]] void fail_alone(const Error& error) {
    log_failure("failed", error.code(), error.what(), error.error_number(), watchdog.location());
    end(error.code());
    std::abort();  // not reached: there is an MpiEnvironment
  }

  Log log;
  FailureRecord failures;
  Watchdog watchdog;
  std::unique_ptr<FileCalls> calls;

 private:
  void log_failure(const char* event, ExitCode code, const std::string& sentence, int error_number,
                   const Location& where) {
    log.error(event, sentence,
              {{"phase", where.phase}, {"work", where.work}, {"code", static_cast<int>(code)}});
    failures.write(code, sentence, error_number, where);
  }

  void end(ExitCode code) {
    if (MpiEnvironment* mpi = mpi_) mpi->abort(code);
  }

  std::atomic<MpiEnvironment*> mpi_ = nullptr;
};

}  // namespace

int run_distributed(
    const CommandSyntax& syntax, const std::vector<std::string>& words,
    const std::function<void(const OptionValues&, const JobConfig&, JobContext)>& body,
    JobConfig (*make_config)(const OptionValues&)) {
  const Stopwatch watch;
  listen_to_signals();
  const CommandLine line = read_command_line(syntax, words);
  Supervision supervision(line);
  std::optional<Watchdog::Watch> meeting(std::in_place, &supervision.watchdog,
                                         Work{Activity::kInit, "the start of MPI"});
  MpiEnvironment mpi(
      {.deadline_seconds = line.deadlines.collective, .watchdog = &supervision.watchdog});
  meeting.reset();
  supervision.met(mpi);
  Communicator& comm = mpi.world();
  try {
    std::string text;
    std::optional<JobConfig> config;
    run_collectively(comm, [&] {
      if (line.failure) std::rethrow_exception(line.failure);
      text = requested_text(syntax, *line.options);
      if (text.empty()) config = make_config(*line.options);
    });
    if (config) {
      const StopRequest stop(config->max_hours ? stop_after(*config->max_hours) - watch.seconds()
                                               : std::numeric_limits<double>::infinity());
      body(*line.options, *config,
           {mpi, *supervision.calls, supervision.log, stop, &supervision.watchdog,
            &supervision.failures});
    } else if (comm.rank() == 0) {
      std::cout << text;
    }
    return 0;
  } catch (const CollectiveError& error) {
    return supervision.fail_collectively(error);
  } catch (const std::exception& failure) {
    supervision.fail_alone(error_of(failure));
  }
}

}  // namespace bulksim
