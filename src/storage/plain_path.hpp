#pragma once

#include <string_view>

namespace bulksim {

/// Whether a path read from a file is safe to use inside a folder: at most four parts, each of 1 to
/// 64 letters, digits, '.', '_' and '-', none beginning with a dot.
bool is_plain_path(std::string_view path);

}  // namespace bulksim
