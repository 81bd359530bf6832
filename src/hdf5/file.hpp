#pragma once

#include <cstdint>
#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Where the first dataset of a file made here begins, as long as what stands before it is smaller.
inline constexpr std::int64_t kDataOffset = std::int64_t{1} << 20;

/// How every file is opened. HDF5 would print every error; ours travel in exceptions. It would also
/// lock files, which fails on some network file systems; staging folders have a lease and published
/// files do not change.
PropertyList file_access();

/// Makes a file that must not exist: format of HDF5 1.10, no time stamps, metadata before
/// `kDataOffset` and data from there on. Equal calls make equal bytes.
File create_file(const std::string& path);

/// Opens a file for reading; Error (65) when HDF5 cannot.
File open_file(const std::string& path);

/// Whether this is an HDF5 file whose root group has the attribute.
bool has_attribute(const std::string& path, const std::string& name);

/// Property list for a dataset without time stamps.
PropertyList dataset_creation();

}  // namespace bulksim::h5
