#include <ctime>
#include <iostream>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/inspect/status_job.hpp"

namespace bulksim {

CommandSyntax status_syntax() {
  using enum OptionKind;
  return {
      .name = "status",
      .usage = "OUT",
      .summary =
          "Tells from its files how far an output is, who is at work on it, and what went wrong\n"
          "last. Needs no MPI and may lag 30 s.",
      .positionals = {"output"},
      .options = {
          {"output", 'o', "", "folder of versions, or a result file (.h5)"},
          {"exit-code", 0, "",
           "return what a job script should act upon: 0 published, 73 at work, the code of the "
           "last error, 75 unfinished, 66 nothing there",
           kFlag},
          {"json", 0, "", "JSON instead of text", kFlag},
          {"help", 'h', "", "this text", kFlag},
      }};
}

int run_status(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(status_syntax(), words);
  if (printed_help(status_syntax(), options)) return 0;
  const OutputStatus status = read_status(
      system_file_calls(), options.required("output", "the output OUT"), std::time(nullptr));
  std::cout << (options.flag("json") ? status.to_json() : status.to_text());
  return options.flag("exit-code") ? static_cast<int>(status.code()) : 0;
}

}  // namespace bulksim
