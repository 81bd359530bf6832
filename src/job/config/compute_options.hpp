#pragma once

#include <optional>

#include "blocks/selection.hpp"
#include "cli/options.hpp"
#include "job/config/job_config.hpp"

namespace bulksim {

/// --select-mass or --select-share; nothing where neither is said.
std::optional<Selection> parse_selection(const OptionValues& options);

/// Builds the configuration; throws Error (64) with the option's name and what it must be.
JobConfig make_job_config(const OptionValues& options);

/// The same for `bulksim repair`, whose inputs may be left out: `items` is empty then.
JobConfig make_repair_config(const OptionValues& options);

}  // namespace bulksim
