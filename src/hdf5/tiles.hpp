#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bulksim/core/types.hpp"
#include "hdf5/handle.hpp"

namespace bulksim::h5 {

using Extent = std::array<hsize_t, 2>;  ///< rows, columns

/// The type of HDF5, little-endian.
Datatype type_of(ValueType type);

/// Creates a matrix of chunks that lie one behind the other, row-major, from the end of
/// what the file holds; no value is written. Chunks may hang over the edge.
Dataset create_tiles(const File& file, const std::string& name, ValueType type, Extent extent,
                     Extent chunk);

/// Creates a matrix without a cell.
Dataset create_empty(const File& file, const std::string& name, ValueType type, Extent extent);

/// Opens a dataset; Error (65), which names the file, when it is no matrix of these types.
Dataset open_matrix(const File& file, const std::string& name, const std::string& path);

ValueType value_type_of(const Dataset& dataset, const std::string& path);

/// What the dataset was created with.
PropertyList creation_of(const Dataset& dataset, const std::string& path);

Extent extent_of(const Dataset& dataset, const std::string& path);

/// Chunk of a matrix made by `create_tiles`; Error (65) on any other kind of dataset.
Extent chunk_of(const Dataset& dataset, const std::string& path);

/// Position in the file of the chunk that holds the cell; Error (65) when there is none.
std::int64_t chunk_offset(const Dataset& dataset, Extent cell, const std::string& path);

}  // namespace bulksim::h5
