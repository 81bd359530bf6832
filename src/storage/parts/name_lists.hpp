#pragma once

#include <string>

#include "bulksim/core/types.hpp"
#include "hdf5/handle.hpp"
#include "storage/parts/result_names.hpp"

namespace bulksim {

/// Adds /query_ids and /item_ids, where they have a width, for a matrix of this shape; no name is
/// written.
NamePlaces create_names(const h5::File& file, MatrixShape shape, NameWidths widths);

/// The names that a file with a matrix of this shape has. Throws Error (65), naming the file, when
/// they are more or fewer than its rows or columns.
NamePlaces find_names(const h5::File& file, MatrixShape shape, const std::string& path);

}  // namespace bulksim
