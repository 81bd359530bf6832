#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "prune",
          .usage = "OUT --keep N",
          .summary = "Removes all but the newest N versions; the current one is always kept.",
          .positionals = {"output"},
          .options = {{"output", 'o', "", "folder of versions"},
                      {"keep", 0, "", "versions to keep"},
                      quiet_option(),
                      help_option()}};
}

int run(const OptionValues& options) {
  Log log(log_options(options));
  const std::string output = options.required("output", "the output folder OUT");
  options.required("keep", "--keep, the number of versions to keep,");
  prune_versions(system_file_calls(), output, options.integer("keep", 1), log);
  return 0;
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
