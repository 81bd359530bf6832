#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace bulksim {

/// The candidate nearest to `word`, or none when none is near.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// The message for an option that `syntax` does not have, with the nearest one that it has.
std::string unknown_option(const CommandSyntax& syntax, const std::string& word);

}  // namespace bulksim
