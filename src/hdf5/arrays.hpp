#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Bytes at the start of a file of arrays that HDF5 does not use (its user block).
inline constexpr std::int64_t kPrefaceBytes = 4096;

/// Offset of the first array in such a file, provided that the HDF5 metadata fits before it.
inline constexpr std::int64_t kArraysAt = 65536;

enum class Element { kByte, kInt32, kInt64, kUint64, kFloat32, kFloat64 };

/// Writes HDF5 for consecutive arrays from `kArraysAt` on into a file. The arrays are written by
/// offset, possibly before they are created in HDF5 (but not before this call, which truncates).
File create_array_file(const bulksim::File& file);

/// Creates an array after the existing ones without writing its elements. Returns its offset.
std::int64_t create_array(const File& file, const std::string& name, Element element,
                          const std::vector<hsize_t>& extent);

/// Creates a group without time stamps.
void create_group(const File& file, const std::string& name);

/// Creates an array and writes its elements, little-endian as in memory.
void write_array(const File& file, const std::string& name, Element element,
                 const std::vector<hsize_t>& extent, const void* elements);

/// An array in a file.
struct Array {
  std::int64_t at = 0;  ///< offset in the file, in bytes; 0 when it is empty
  std::int64_t count = 0;
};

/// The array of one dimension `name`; throws Error (65) when there is none of these elements, or it
/// does not lie in one piece in this file.
Array find_array(const File& file, const std::string& name, Element element,
                 const std::string& path);

/// Reads a whole array; throws Error (65) when it does not have `count` elements.
void read_array(const File& file, const std::string& name, Element element, std::size_t count,
                void* to);

}  // namespace bulksim::h5
