#include "distributed.hpp"

#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <optional>

#include "bulksim/comm/mpi_environment.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/log.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/core/stop_request.hpp"
#include "bulksim/job/agreement.hpp"
#include "command.hpp"

namespace bulksim {

namespace {

LogOptions log_options(const OptionValues& options, const Communicator& comm) {
  LogOptions log;
  log.format =
      options.choice("log-format", {"human", "json"}) == 1 ? LogFormat::kJson : LogFormat::kHuman;
  if (options.flag("verbose")) log.level = LogLevel::kDetail;
  if (options.flag("quiet")) log.level = LogLevel::kWarning;
  log.rank = comm.rank();
  log.ranks = comm.size();
  return log;
}

void print_config(const OptionValues& options) {
  for (const auto& [name, value] : options.all()) {
    if (name != "config" && name != "print-config") std::cout << name << " = " << value << '\n';
  }
}

/// A failure of this rank alone: the others are at work or wait for it, so all end at once.
[[noreturn]] void fail_alone(MpiEnvironment& mpi, Log& log, ExitCode code, const char* sentence) {
  log.error("failed", sentence);
  mpi.abort(code);
}

}  // namespace

int run_distributed(
    const CommandSyntax& syntax, const std::vector<std::string>& words,
    const std::function<void(const OptionValues&, const JobConfig&, JobContext)>& body) {
  const Stopwatch watch;
  listen_to_signals();
  MpiEnvironment mpi;
  Communicator& comm = mpi.world();
  std::optional<Log> log(std::in_place, LogOptions{.rank = comm.rank(), .ranks = comm.size()});
  try {
    std::optional<OptionValues> options;
    std::optional<JobConfig> config;
    together(comm, [&] {
      options = parse_options(syntax, words);
      log.emplace(log_options(*options, comm));
      if (!options->flag("help") && !options->flag("print-config")) {
        config = make_job_config(*options);
      }
    });
    if (config) {
      const StopRequest stop(config->max_hours ? stop_after(*config->max_hours) - watch.seconds()
                                               : std::numeric_limits<double>::infinity());
      body(*options, *config, {mpi, system_file_calls(), *log, stop});
    } else if (comm.rank() == 0 && !printed_help(syntax, *options)) {
      print_config(*options);
    }
    return 0;
  } catch (const AgreedError& error) {
    if (comm.rank() == 0) log->error("failed", error.what());
    return mpi.exit_status(error.code());
  } catch (const Error& error) {
    fail_alone(mpi, *log, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    fail_alone(mpi, *log, ExitCode::kMemory, "there is not enough memory");
  } catch (const std::exception& error) {
    fail_alone(mpi, *log, ExitCode::kSoftware, error.what());
  }
}

}  // namespace bulksim
