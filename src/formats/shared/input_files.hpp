#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether a name ends in one of the suffixes.
bool has_suffix(std::string_view name, std::span<const std::string_view> suffixes);

/// Names of the files in a folder that do not begin with a dot, in natural order: p2 before p10.
std::vector<std::string> visible_names(FileCalls& calls, const std::string& folder);

/// Those of them that end in one of the suffixes.
std::vector<std::string> names_with_suffix(FileCalls& calls, const std::string& folder,
                                           std::span<const std::string_view> suffixes);

/// Whether a file starts with these bytes.
bool starts_with(FileCalls& calls, const std::string& path, std::string_view bytes);

/// "gzip", "zstd" or "xz" for a file that starts like one of these, otherwise empty.
std::string_view compression_of(const File& file);

/// Throws Error (65) for a compressed file, which errors call `name`.
void refuse_compressed(const File& file, const std::string& name);

}  // namespace bulksim
