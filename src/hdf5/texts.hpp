#pragma once

#include <cstdint>
#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// A list of UTF-8 strings of equal length, padded with zeros.
struct Texts {
  std::int64_t at = 0;  ///< offset in the file, in bytes
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< bytes per string
};

/// Creates a list at the end of the file without writing its strings. Returns its offset.
std::int64_t create_texts(const File& file, const std::string& name, std::int64_t count,
                          std::int64_t width);

/// The list `name`; throws Error (65) when it is not a list of strings.
Texts find_texts(const File& file, const std::string& name, const std::string& path);

}  // namespace bulksim::h5
