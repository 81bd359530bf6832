#include <ctime>
#include <iostream>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/status_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  using enum OptionKind;
  return {
      .name = "status",
      .usage = "OUT",
      .summary =
          "Prints the progress of an output, the run that writes it, and the last error. Reads "
          "only files, does not need MPI, and may be up to 30 s old.",
      .positionals = {"output"},
      .options = {
          {"output", 'o', "", "folder of versions, or a result file (.h5)"},
          {"exit-code", 0, "",
           "exit with the code that a job script should act on: 0 published, 73 in progress, the "
           "code of the last error, 75 unfinished, 66 nothing there",
           kFlag},
          json_option(),
          help_option()}};
}

int run(const OptionValues& options) {
  const OutputStatus status = read_status(
      system_file_calls(), options.required("output", "the output OUT"), std::time(nullptr));
  std::cout << (options.flag("json") ? status.to_json() : status.to_text());
  return options.flag("exit-code") ? static_cast<int>(status.code()) : 0;
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
