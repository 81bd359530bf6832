#pragma once

#include "cli/options.hpp"
#include "job/input/import_matrix.hpp"

namespace bulksim {

/// `--keys`, which is the same in every command. Throws Error (64).
VectorKeys parse_keys(const OptionValues& options);
/// Throws Error (64) with the option's name and what it must be.
ImportOptions make_import_options(const OptionValues& options);

}  // namespace bulksim
