#include <iostream>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "versions",
          .usage = "OUT",
          .summary = "Lists the published versions of an output folder; * marks the current one.",
          .positionals = {"output"},
          .options = {{"output", 'o', "", "folder of versions"}, json_option(), help_option()}};
}

int run(const OptionValues& options) {
  print_versions(system_file_calls(), options.required("output", "the output folder OUT"),
                 options.format<VersionsFormat>(), std::cout);
  return 0;
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
