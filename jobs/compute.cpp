#include <iostream>

#include "command.hpp"
#include "distributed.hpp"
#include "job/compute_job.hpp"
#include "job/config/compute_options.hpp"

namespace bulksim {

int run_compute_command(const std::vector<std::string>& words) {
  return run_distributed(compute_syntax(), words,
                         [](const OptionValues&, const JobConfig& config, JobContext context) {
                           const std::string result = run_compute(config, context);
                           if (context.mpi.world().rank() == 0) std::cout << result << std::endl;
                         });
}

}  // namespace bulksim
