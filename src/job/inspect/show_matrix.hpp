#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json.hpp>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whether a path means a matrix, not a result.
bool is_matrix(FileCalls& calls, const std::string& path);

/// What a matrix of any known format holds. A store carries most of that; other files are read once
/// from end to end, and nothing of it is kept.
nlohmann::ordered_json describe_matrix(FileCalls& calls, const std::string& path);

void print_matrix(const nlohmann::ordered_json& json, std::ostream& out);

}  // namespace bulksim
