#include <iostream>

#include "command.hpp"
#include "distributed.hpp"
#include "job/config/compute_options.hpp"
#include "job/estimate_job.hpp"

namespace bulksim {

CommandSyntax estimate_syntax() {
  CommandSyntax syntax = compute_syntax();
  syntax.name = "estimate";
  syntax.usage = "ITEMS [QUERIES]";
  syntax.summary =
      "Estimates the block map before anything is computed, from the antidiagonals of groups\n"
      "of --stride rows: 1/stride of the work. Prints how many blocks --select-mass or\n"
      "--select-share would choose, and leaves nothing behind.";
  for (Option& option : syntax.options) {
    if (option.name == "output")
      option = {"output", 'o', ".", "a folder for inputs to be imported"};
  }
  syntax.options.push_back(
      {"against", 0, "", "result with the exact map: also print the recall of the selection"});
  syntax.options.push_back({"json", 0, "", "JSON instead of text", OptionKind::kFlag});
  return syntax;
}

int run_estimate_command(const std::vector<std::string>& words) {
  return run_distributed(
      estimate_syntax(), words,
      [](const OptionValues& options, const JobConfig& config, JobContext context) {
        EstimateOptions estimate;
        estimate.selection = config.select.value_or(Selection{});
        estimate.against = options.text("against");
        if (options.flag("json")) estimate.format = EstimateFormat::kJson;
        run_estimate(config, estimate, context, std::cout);
      });
}

}  // namespace bulksim
