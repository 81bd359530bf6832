#pragma once

#include <string>

#include "bulksim/core/types.hpp"
#include "hdf5/handle.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Creates the groups /query_ids and /item_ids, each with the arrays `offsets` and `text`, for the
/// sides that have ids, without writing ids.
IdPlaces create_ids(const h5::File& file, IdSizes sizes);

/// Finds the ids in a file with a matrix of this shape. Throws Error (65) with the file when their
/// number differs from that of its rows or columns.
IdPlaces find_ids(const h5::File& file, MatrixShape shape, const std::string& path);

}  // namespace bulksim
