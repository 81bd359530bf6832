#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "use",
          .usage = "OUT N",
          .summary = "Makes version N the current one, to return to an earlier result.",
          .positionals = {"output", "number"},
          .options = {{"output", 'o', "", "folder of versions"},
                      {"number", 0, "", "number of the version, as `bulksim versions` lists it"},
                      quiet_option(),
                      help_option()}};
}

int run(const OptionValues& options) {
  Log log(log_options(options));
  const std::string output = options.required("output", "the output folder OUT");
  options.required("number", "the number N of the version");
  use_version(system_file_calls(), output, options.integer("number", 1), log);
  return 0;
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
