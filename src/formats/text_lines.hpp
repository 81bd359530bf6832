#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"

namespace bulksim {

/// Names of rows or columns from a text file (or .gz), one a line: UTF-8, LF or CRLF. Throws
/// Error (65) for an empty line, for one that is not UTF-8, and for a name that occurs twice.
StringTable read_lines(FileCalls& calls, const std::string& path);

}  // namespace bulksim
