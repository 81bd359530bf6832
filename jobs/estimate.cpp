#include <iostream>

#include "cli/standard_options.hpp"
#include "command.hpp"
#include "distributed.hpp"
#include "job/config/option_table.hpp"
#include "job/estimate_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  CommandSyntax syntax = compute_syntax();
  syntax.name = "estimate";
  syntax.usage = "ITEMS [QUERIES]";
  syntax.summary =
      "Estimates the block map before anything is computed. Takes the antidiagonals of groups of "
      "--stride rows, 1/stride of the work, prints how many blocks --select-mass or "
      "--select-share would choose, and leaves nothing behind. Accepts every option of compute; "
      "--help-all also lists those that do not change the estimate.";
  syntax.options = options_of(ComputeCommand::kEstimate);
  for (Option& option : syntax.options) {
    if (option.name == "output") {
      option.default_value.assign(1, '.');
      option.meaning = "folder for inputs that have to be imported first";
    }
    if (option.name == "stride") option.group = OptionGroup::kResult;
  }
  syntax.options.push_back({"against", 0, "",
                            "result with the exact map: also print the recall of the selection",
                            OptionKind::kValue, OptionGroup::kResult});
  Option json = json_option();
  json.group = OptionGroup::kGeneral;
  syntax.options.insert(syntax.options.begin(), json);
  syntax.examples = {"bulksim estimate items.npz queries.npz --select-mass 0.9"};
  return syntax;
}

int run(const Command::Words& words) {
  return run_distributed(
      syntax(), words,
      [](const OptionValues& options, const JobConfig& config, JobContext context) {
        EstimateOptions estimate;
        estimate.selection = config.select.value_or(Selection{});
        estimate.against = options.text("against");
        estimate.format = options.format<EstimateFormat>();
        run_estimate(config, estimate, context, std::cout);
      });
}

const Command kCommand(CommandGroup::kCompute, syntax, run);

}  // namespace

}  // namespace bulksim
