#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace bulksim {

/// Reads lines "name = value"; '#' begins a comment. Names are those of the command line. Throws
/// Error (78) with file and line.
std::map<std::string, std::string> read_config_file(const CommandSyntax& syntax,
                                                    const std::string& path);

/// Whether an option may be in a configuration file: --help and the like may not.
bool is_setting(std::string_view name);

/// A configuration file with every setting of `syntax` in its group: with the value in `values` or
/// its default, and as a comment where it has neither. `heading` is the comment at the top.
std::string config_file_text(const CommandSyntax& syntax, const std::string& heading,
                             const std::map<std::string, std::string>& values = {});

}  // namespace bulksim
