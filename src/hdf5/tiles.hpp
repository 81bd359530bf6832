#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

using Extent = std::array<hsize_t, 2>;  ///< rows, columns

/// Creates a float32 matrix of chunks that lie one behind the other, row-major, from the end of
/// what the file holds; no value is written. Chunks may hang over the edge.
Dataset create_tiles(const File& file, const std::string& name, Extent extent, Extent chunk);

/// Creates a float32 matrix without a cell.
Dataset create_empty(const File& file, const std::string& name, Extent extent);

/// Opens a dataset; Error (65), which names the file, when it is no float32 matrix.
Dataset open_matrix(const File& file, const std::string& name, const std::string& path);

/// What the dataset was created with.
PropertyList creation_of(const Dataset& dataset, const std::string& path);

Extent extent_of(const Dataset& dataset, const std::string& path);

/// Chunk of a matrix made by `create_tiles`; Error (65) on any other kind of dataset.
Extent chunk_of(const Dataset& dataset, const std::string& path);

/// Position in the file of the chunk that holds the cell; Error (65) when there is none.
std::int64_t chunk_offset(const Dataset& dataset, Extent cell, const std::string& path);

}  // namespace bulksim::h5
