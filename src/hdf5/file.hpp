#pragma once

#include <cstdint>
#include <string>

#include "bulksim/core/file.hpp"
#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Offset of the first dataset in a file created here, provided that the metadata fits before it.
inline constexpr std::int64_t kDataOffset = std::int64_t{1} << 20;

/// Access properties of every file. Turns off error printing, since errors are thrown, and file
/// locks, which fail on some network file systems: staging folders have a lease, and published
/// files do not change.
PropertyList file_access();

/// Access properties for writing HDF5 into an open file through its handle in /proc. The default
/// driver would look for the name of the file, which it may not have yet.
PropertyList creation_access();

/// Writes HDF5 into an empty file, in the format of HDF5 1.10, without time stamps, with metadata
/// before `kDataOffset` and data after it. Equal calls produce equal bytes.
File create_file(const bulksim::File& file);

/// Opens a file for reading; throws Error (65) when HDF5 cannot open it.
File open_file(const std::string& path);

/// Whether `name` exists in the file; throws Error (65) when the file is damaged there.
bool exists(const File& file, const std::string& name, const std::string& path);

/// Whether the object `name` is a group.
bool is_group(const File& file, const std::string& name, const std::string& path);

/// Whether this is an HDF5 file whose root group has the attribute.
bool has_attribute(const std::string& path, const std::string& name);

/// Properties of a dataset without time stamps.
PropertyList dataset_creation();

}  // namespace bulksim::h5
