#include <iostream>

#include "command.hpp"
#include "distributed.hpp"
#include "job/compute_job.hpp"
#include "job/config/option_table.hpp"

namespace bulksim {

namespace {

int run(const Command::Words& words) {
  return run_distributed(compute_syntax(), words,
                         [](const OptionValues&, const JobConfig& config, JobContext context) {
                           if (config.output == "-")
                             return compute_to_stream(config, context, std::cout);
                           const std::string result = run_compute(config, context);
                           if (context.mpi.world().rank() == 0)
                             std::cout << result << '\n' << std::flush;
                         });
}

const Command kCommand(CommandGroup::kCompute, compute_syntax, run);

}  // namespace

}  // namespace bulksim
