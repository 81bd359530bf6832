#pragma once

#include <cstdint>
#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Offset of the first dataset in a file created here, provided that the metadata fits before it.
inline constexpr std::int64_t kDataOffset = std::int64_t{1} << 20;

/// Access properties of every file. Turns off error printing, since errors are thrown, and file
/// locks, which fail on some network file systems: staging folders have a lease, and published
/// files do not change.
PropertyList file_access();

/// Creates a file, which must not exist, in the format of HDF5 1.10, without time stamps, with
/// metadata before `kDataOffset` and data after it. Equal calls produce equal bytes.
File create_file(const std::string& path);

/// Opens a file for reading; throws Error (65) when HDF5 cannot open it.
File open_file(const std::string& path);

/// Whether this is an HDF5 file whose root group has the attribute.
bool has_attribute(const std::string& path, const std::string& name);

/// Properties of a dataset without time stamps.
PropertyList dataset_creation();

}  // namespace bulksim::h5
