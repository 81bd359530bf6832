#pragma once

#include <optional>

#include "blocks/selection.hpp"
#include "cli/options.hpp"
#include "job/config/job_config.hpp"

namespace bulksim {

/// --select-mass or --select-share; none where neither is given.
std::optional<Selection> parse_selection(const OptionValues& options);

/// Builds the configuration; throws Error (64) with the option's name and what it must be.
JobConfig make_job_config(const OptionValues& options);

/// The same for `bulksim repair`, whose inputs may be omitted: `items` is then empty.
JobConfig make_repair_config(const OptionValues& options);

}  // namespace bulksim
