#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bulksim/core/types.hpp"
#include "hdf5/handle.hpp"

namespace bulksim::h5 {

using Extent = std::array<hsize_t, 2>;  ///< rows, columns

inline Extent extent(std::int64_t rows, std::int64_t columns) {
  return {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)};
}

/// The little-endian HDF5 type.
Datatype type_of(ValueType type);

/// Creates a matrix of consecutive chunks, row-major, at the end of the file, without writing
/// values. Chunks may extend past the edge of the matrix.
Dataset create_tiles(const File& file, const std::string& name, ValueType type, Extent extent,
                     Extent chunk);

/// Creates a matrix without cells.
Dataset create_empty(const File& file, const std::string& name, ValueType type, Extent extent);

/// Opens a dataset; throws Error (65) with the file when it is not a float32 or float16 matrix.
Dataset open_matrix(const File& file, const std::string& name, const std::string& path);

ValueType value_type_of(const Dataset& dataset, const std::string& path);

/// Creation properties of the dataset.
PropertyList creation_of(const Dataset& dataset, const std::string& path);

Extent extent_of(const Dataset& dataset, const std::string& path);

/// Chunk of a matrix from `create_tiles`; throws Error (65) for any other kind of dataset.
Extent chunk_of(const Dataset& dataset, const std::string& path);

/// File offset of the chunk that contains the cell; throws Error (65) when it is missing.
std::int64_t chunk_offset(const Dataset& dataset, Extent cell, const std::string& path);

}  // namespace bulksim::h5
