#include <iostream>

#include "command.hpp"
#include "distributed.hpp"
#include "job/config/make_job_config.hpp"
#include "job/config/option_table.hpp"
#include "job/repair_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  CommandSyntax syntax{
      .name = "repair",
      .usage = "OUT [ITEMS [QUERIES]]",
      .summary =
          "Makes a new version of a damaged one. Intact parts are shared with it; damaged "
          "tiles are recomputed from the inputs in its report, or from those given here. The "
          "version determines what is computed: options of compute that would "
          "choose this are accepted but not needed, and --help-all lists them.",
      .positionals = {"output", "items", "queries"},
      .options = options_of(ComputeCommand::kRepair),
      .examples = {"bulksim verify out/ || bulksim repair out/"}};
  for (Option& option : syntax.options) {
    if (option.name == "output") option.meaning = "folder of versions to repair";
    if (option.name == "queries") option.meaning = "query rows; default: the items";
    if (option.name == "items") option.meaning += "; default: the inputs in its report";
  }
  return syntax;
}

int run(const Command::Words& words) {
  return run_distributed(
      syntax(), words,
      [](const OptionValues&, const JobConfig& config, JobContext context) {
        const std::string result = run_repair(config, context);
        if (context.mpi.world().rank() == 0) std::cout << result << '\n' << std::flush;
      },
      make_repair_config);
}

const Command kCommand(CommandGroup::kMaintain, syntax, run);

}  // namespace

}  // namespace bulksim
