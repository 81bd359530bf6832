#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

enum class ShowFormat { kText, kJson };

/// Prints the contents of a matrix file or a finished result: shape, and for a result the `pairs`
/// strongest pairs (of a sample of rows when the matrix is large) with the ids of their rows, or as
/// many blocks where there are only block sums; for a matrix its row lengths, its irregularities
/// and, for a store, its bytes. An incomplete result is an Error (65).
void show(FileCalls& calls, const std::string& path, std::int64_t pairs, ShowFormat format,
          std::ostream& out);

}  // namespace bulksim
