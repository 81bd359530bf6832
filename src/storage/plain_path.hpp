#pragma once

#include <string_view>

namespace bulksim {

/// Whether a path from a file may be used below a folder: at most four parts, each of 1 to 64
/// letters, digits, '.', '_' and '-' that do not begin with a dot.
bool is_plain_path(std::string_view path);

}  // namespace bulksim
