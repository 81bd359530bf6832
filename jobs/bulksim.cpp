#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "bulksim/core/error.hpp"
#include "comm/collective_error.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "job/config/compute_options.hpp"
#include "job/config/import_options.hpp"
#include "job/config/job_config.hpp"
#include "job/input/import_matrix.hpp"
#include "job/process.hpp"

namespace bulksim {

namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {compute_syntax, run_compute_command},
      {plan_syntax, run_plan_command},
      {estimate_syntax, run_estimate_command},
      {import_syntax, run_import},
      {show_syntax, run_show},
      {export_syntax, run_export},
      {verify_syntax, run_verify},
      {status_syntax, run_status},
      {versions_syntax, run_versions},
      {use_syntax, run_use},
      {prune_syntax, run_prune},
      {repair_syntax, run_repair_command},
      {report_syntax, run_report},
      {generate_syntax, run_generate},
      {bench_syntax, run_bench},
  };
  return all;
}

void print_help() {
  std::cout << "bulksim: exact cosine similarity of every query with every item, for sparse "
               "embeddings\n\n";
  for (const Command& command : commands()) {
    const CommandSyntax syntax = command.syntax();
    std::cout << "  bulksim " << syntax.name << ' ' << syntax.usage << '\n';
  }
  std::cout
      << "\nbulksim COMMAND --help lists the options of a command.\n\n"
         "exit codes: 0 done, 64 usage, 65 bad data, 66 no input, 69 device, peer or deadline,"
         "\n70 internal, 71 memory, 73 output not ours or locked, 74 input/output or disk full,"
         "\n75 stopped, run again, 77 permission, 78 configuration\n";
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return static_cast<int>(words.empty() ? ExitCode::kUsage : ExitCode::kOk);
  }
  if (words[0] == "--version" || words[0] == "-V") {
    std::cout << "bulksim " << BULKSIM_VERSION << '\n';
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    names.push_back(command.syntax().name);
    if (names.back() == words[0]) return command.run({words.begin() + 1, words.end()});
  }
  const auto near = nearest(words[0], names);
  throw Error(ExitCode::kUsage,
              "unknown command '" + words[0] + "'" +
                  (near ? " (did you mean " + *near + "?)" : "; bulksim --help lists them"));
}

}  // namespace

bool printed_help(const CommandSyntax& syntax, const OptionValues& options) {
  if (!options.flag("help")) return false;
  std::cout << help_text(syntax);
  return true;
}

}  // namespace bulksim

int main(int argc, char** argv) {
  using bulksim::ExitCode;
  bulksim::Log log({});
  try {
    bulksim::prepare_process(log);
    return bulksim::dispatch({argv + 1, argv + argc});
  } catch (const std::exception& failure) {
    const bulksim::Error error = bulksim::error_of(failure);
    log.error("failed", error.what());
    return static_cast<int>(error.code());
  }
}
