#pragma once

#include "cli/options.hpp"
#include "core/run/log.hpp"

namespace bulksim {

// Options that mean the same in every command that has them.

Option help_option();
Option json_option();
Option quiet_option();
Option log_format_option();

/// The log options from --log-format, --quiet and --verbose, where a command has them.
LogOptions log_options(const OptionValues& options);

}  // namespace bulksim
