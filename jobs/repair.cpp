#include <algorithm>
#include <iostream>
#include <iterator>
#include <string_view>

#include "command.hpp"
#include "distributed.hpp"
#include "job/config/compute_options.hpp"
#include "job/repair_job.hpp"

namespace bulksim {

CommandSyntax repair_syntax() {
  CommandSyntax syntax = compute_syntax();
  syntax.name = "repair";
  syntax.usage = "OUT [ITEMS [QUERIES]]";
  syntax.summary =
      "Makes a new version of a damaged one: what is whole is shared with it, damaged tiles are\n"
      "computed again from the inputs that its report names, or from those given here.";
  syntax.positionals = {"output", "items", "queries"};
  // the version decides its plan, and a repair is always a new version
  std::erase_if(syntax.options, [](const Option& option) {
    constexpr std::string_view kDecided[] = {"tile", "parts", "recompute", "pad-dims"};
    return std::find(std::begin(kDecided), std::end(kDecided), option.name) != std::end(kDecided);
  });
  return syntax;
}

int run_repair_command(const std::vector<std::string>& words) {
  return run_distributed(
      repair_syntax(), words,
      [](const OptionValues&, const JobConfig& config, JobContext context) {
        const std::string result = run_repair(config, context);
        if (context.mpi.world().rank() == 0) std::cout << result << std::endl;
      },
      make_repair_config);
}

}  // namespace bulksim
