#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// A list of UTF-8 texts of one length, padded with zeros.
struct Texts {
  std::int64_t at = 0;  ///< position in the file
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< bytes of each
};

/// Adds a list behind what the file holds; no text is written. Returns its position.
std::int64_t create_texts(const File& file, const std::string& name, std::int64_t count,
                          std::int64_t width);

/// The list of this name, or nothing where there is none; Error (65) when it is something else.
std::optional<Texts> find_texts(const File& file, const std::string& name, const std::string& path);

}  // namespace bulksim::h5
