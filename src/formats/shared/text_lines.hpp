#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"

namespace bulksim {

/// Ids of rows or terms of columns from a text file (or .gz), one per line: UTF-8, LF or CRLF.
/// Throws Error (65) for an empty line, for one that is not UTF-8 or contains a zero byte, and for
/// a repeated one.
StringTable read_lines(FileCalls& calls, const std::string& path);

}  // namespace bulksim
