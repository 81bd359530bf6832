#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Bytes at the front of a file of arrays that HDF5 leaves alone (its user block).
inline constexpr std::int64_t kPrefaceBytes = 4096;

/// Where the first array of such a file begins, as long as what HDF5 writes about them is smaller.
inline constexpr std::int64_t kArraysAt = 65536;

enum class Element { kByte, kInt32, kInt64, kUint64, kFloat32, kFloat64 };

/// Makes a file that must not exist, for arrays that lie one behind the other from `kArraysAt` on
/// and are written by their position, even before HDF5 hears of them.
File create_array_file(const std::string& path);

/// Adds an array behind those that are there; no element is written. Returns its position.
std::int64_t create_array(const File& file, const std::string& name, Element element,
                          const std::vector<hsize_t>& extent);

/// Makes a group without time stamps.
void create_group(const File& file, const std::string& name);

/// Adds an array with its elements, little-endian as they are in memory.
void write_array(const File& file, const std::string& name, Element element,
                 const std::vector<hsize_t>& extent, const void* elements);

/// Reads a whole array of `count` elements; Error (65) when it has another number of them.
void read_array(const File& file, const std::string& name, Element element, std::size_t count,
                void* to);

}  // namespace bulksim::h5
