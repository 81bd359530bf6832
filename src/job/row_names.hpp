#pragma once

#include "bulksim/core/file.hpp"
#include "bulksim/job/job_config.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/job/survey.hpp"
#include "bulksim/storage/result_names.hpp"
#include "job/run_setup.hpp"

namespace bulksim {

/// Adds to the surveys what the names of the rows are, from the files of the options or from the
/// inputs. Throws Error (65) for a name that no text in a result can be.
void survey_names(const JobConfig& config, const SourcePair& inputs, FileCalls& calls,
                  Surveys& surveys);

/// The names that the plan knows. Throws Error (75) when they are others by now.
ResultNames read_result_names(const JobConfig& config, const RunSetup& setup, FileCalls& calls);

/// The room that the names of a plan take.
NameWidths name_widths(const Plan& plan);

}  // namespace bulksim
