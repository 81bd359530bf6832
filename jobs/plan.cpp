#include <iostream>

#include "command.hpp"
#include "distributed.hpp"
#include "job/config/compute_options.hpp"
#include "job/plan_job.hpp"

namespace bulksim {

CommandSyntax plan_syntax() {
  CommandSyntax syntax = compute_syntax();
  syntax.name = "plan";
  syntax.summary =
      "Prints what compute with the same options would write, hold in memory and take. It "
      "computes\n"
      "a few tiles to tell the time, and leaves nothing behind.";
  syntax.options.push_back({"json", 0, "", "JSON instead of text", OptionKind::kFlag});
  return syntax;
}

int run_plan_command(const std::vector<std::string>& words) {
  return run_distributed(
      plan_syntax(), words,
      [](const OptionValues& options, const JobConfig& config, JobContext context) {
        run_plan(config, options.flag("json") ? PlanFormat::kJson : PlanFormat::kText, context,
                 std::cout);
      });
}

}  // namespace bulksim
