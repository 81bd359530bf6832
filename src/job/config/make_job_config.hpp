#pragma once

#include <optional>
#include <string>

#include "blocks/selection.hpp"
#include "cli/options.hpp"
#include "job/config/job_config.hpp"

namespace bulksim {

/// --select-mass or --select-share; none where neither is given.
std::optional<Selection> parse_selection(const OptionValues& options);

/// --run-tag, one word.
std::string parse_run_tag(const OptionValues& options);

/// The requested pairs; none when the full matrix is requested.
std::optional<PairFilterSpec> parse_filter(const OptionValues& options);

/// --metric.
Metric parse_metric(const OptionValues& options);

/// Builds the configuration; throws Error (64) with the option's name and what it must be.
JobConfig make_job_config(const OptionValues& options);

/// The same for `bulksim repair`, whose inputs may be omitted: `items` is then empty.
JobConfig make_repair_config(const OptionValues& options);

}  // namespace bulksim
