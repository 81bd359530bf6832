#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

using Attributes =
    std::vector<std::pair<std::string, std::variant<std::int64_t, double, std::string>>>;

/// The type of a UTF-8 text of `bytes` bytes, padded with zeros; HDF5 has none of length 0.
Datatype text_type(std::size_t bytes);

/// Writes scalar attributes of the root group: little-endian, strings of fixed length in UTF-8.
void write_attributes(const File& file, const Attributes& attributes);

/// The scalar attributes of the root group by name; Error (65) on any of another kind.
Attributes read_attributes(const File& file, const std::string& path);

}  // namespace bulksim::h5
