#pragma once

#include <string>

#include "bulksim/core/types.hpp"
#include "hdf5/handle.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Adds /query_ids and /item_ids, where they have a width, for a matrix of this shape; no id is
/// written.
IdPlaces create_ids(const h5::File& file, MatrixShape shape, IdWidths widths);

/// The ids that a file with a matrix of this shape has. Throws Error (65), naming the file, when
/// they are more or fewer than its rows or columns.
IdPlaces find_ids(const h5::File& file, MatrixShape shape, const std::string& path);

}  // namespace bulksim
