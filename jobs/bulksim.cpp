#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/error.hpp"
#include "cli/help.hpp"
#include "cli/suggestion.hpp"
#include "comm/collective_error.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "core/text/format_text.hpp"
#include "job/process.hpp"

namespace bulksim {

namespace {

std::string heading_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::kCompute:
      return "compute";
    case CommandGroup::kRead:
      return "read results";
    case CommandGroup::kMaintain:
      return "maintain outputs";
    case CommandGroup::kTry:
      return "try the program";
  }
  return "";
}

void print_help() {
  std::cout << "usage: bulksim COMMAND ARGUMENTS\n\n"
               "Exact cosine similarity of every query with every item, for sparse embeddings.\n";
  std::optional<CommandGroup> group;
  for (const Command* command : Command::all()) {
    if (group != command->group()) std::cout << '\n' << heading_of(command->group()) << ":\n";
    group = command->group();
    const CommandSyntax syntax = command->syntax();
    std::cout << formatted("  %-10s ", syntax.name.c_str()) << first_sentence(syntax.summary)
              << '\n';
  }
  std::cout
      << "\nbulksim COMMAND --help prints the arguments and options of a command,\n"
         "bulksim --version the version of the program.\n\n"
         "exit codes: 0 done, 64 usage, 65 bad data, 66 no input, 69 device, peer or deadline,"
         "\n70 internal, 71 memory, 73 output in use or not bulksim's, 74 input/output or disk "
         "full,"
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
  for (const Command* command : Command::all()) {
    names.push_back(command->syntax().name);
    if (names.back() == words[0]) return command->run({words.begin() + 1, words.end()});
  }
  const auto near = nearest(words[0], names);
  throw Error(ExitCode::kUsage,
              "unknown command '" + words[0] + "'" +
                  (near ? " (did you mean " + *near + "?)" : "; bulksim --help lists them"));
}

}  // namespace

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
