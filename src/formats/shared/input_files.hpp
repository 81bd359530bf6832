#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether a name ends in one of the suffixes.
bool has_suffix(std::string_view name, std::span<const std::string_view> suffixes);

/// Names of the files in a folder that end in one of the suffixes, sorted.
std::vector<std::string> names_with_suffix(FileCalls& calls, const std::string& folder,
                                           std::span<const std::string_view> suffixes);

/// Whether a file starts with these bytes.
bool starts_with(FileCalls& calls, const std::string& path, std::string_view bytes);

}  // namespace bulksim
