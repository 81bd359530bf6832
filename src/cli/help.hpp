#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace bulksim {

/// Which options a help text shows.
enum class HelpDetail {
  kUsual,  ///< --help
  kAll,    ///< --help-all
};

/// Text of `bulksim COMMAND --help`.
std::string help_text(const CommandSyntax& syntax, HelpDetail detail = HelpDetail::kUsual);

/// The requested help text; empty when none was requested.
std::string requested_help(const CommandSyntax& syntax, const OptionValues& options);

/// The heading of a group; empty for plain options.
std::string_view heading_of(OptionGroup group);

/// The options, stably sorted by group.
std::vector<Option> by_group(std::vector<Option> options);

/// The first sentence of a text.
std::string first_sentence(const std::string& text);

}  // namespace bulksim
