#include <iostream>

#include "cli/standard_options.hpp"
#include "command.hpp"
#include "distributed.hpp"
#include "job/config/option_table.hpp"
#include "job/plan_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  CommandSyntax syntax = compute_syntax();
  syntax.name = "plan";
  syntax.summary =
      "Prints the output size, memory and time of compute with the same arguments. "
      "Computes a few tiles to measure the time, and leaves nothing behind. Accepts every option "
      "of compute; --help-all also lists those that do not change the plan.";
  syntax.options = options_of(ComputeCommand::kPlan);
  Option json = json_option();
  json.group = OptionGroup::kGeneral;
  syntax.options.insert(syntax.options.begin(), json);
  syntax.examples = {"bulksim plan items.npz queries.npz -o out/ --memory 16G"};
  return syntax;
}

int run(const Command::Words& words) {
  return run_distributed(
      syntax(), words,
      [](const OptionValues& options, const JobConfig& config, JobContext context) {
        run_plan(config, options.format<PlanFormat>(), context, std::cout);
      });
}

const Command kCommand(CommandGroup::kCompute, syntax, run);

}  // namespace

}  // namespace bulksim
