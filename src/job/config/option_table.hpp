#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace bulksim {

/// The commands that take the options of compute.
enum class ComputeCommand : unsigned { kCompute = 1, kPlan = 2, kEstimate = 4, kRepair = 8 };

/// Their options. Those that do not apply to `command` are accepted, but only --help-all shows
/// them.
std::vector<Option> options_of(ComputeCommand command);

/// `bulksim compute`.
CommandSyntax compute_syntax();

/// The options of compute that choose pairs, for commands that look at their results.
std::vector<Option> pair_options();

/// A file in configs/ that is generated from the table.
struct ShippedConfig {
  std::string name;  ///< "compute.cfg"
  std::string text;
};

/// configs/compute.cfg, which sets every option to its default, and configs/nightly.cfg.
std::vector<ShippedConfig> shipped_configs();

}  // namespace bulksim
