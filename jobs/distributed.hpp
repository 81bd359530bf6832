#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "job/compute_job.hpp"
#include "job/config/job_config.hpp"
#include "job/config/make_job_config.hpp"

namespace bulksim {

/// Starts MPI where there is a launcher, reads the options, runs `body` on every rank and turns
/// exceptions into the exit status: all ranks end in an orderly way when all know of the failure,
/// and the job is aborted when only one does.
///
/// `make_config` turns the options into a configuration; all ranks know of its exceptions.
///
/// The syntax has the options that every such command has: help, help-all, print-config,
/// log-format, quiet and verbose.
int run_distributed(
    const CommandSyntax& syntax, const std::vector<std::string>& words,
    const std::function<void(const OptionValues&, const JobConfig&, JobContext)>& body,
    JobConfig (*make_config)(const OptionValues&) = make_job_config);

}  // namespace bulksim
