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

/// The type of UTF-8 strings of `bytes` bytes, padded with zeros; at least one byte, since HDF5 has
/// no empty strings.
Datatype text_type(std::size_t bytes);

/// Writes scalar attributes of the root group: little-endian, strings of fixed length in UTF-8.
void write_attributes(const File& file, const Attributes& attributes);

/// Writes a string, as above, as an attribute of the object `name`.
void write_text_attribute(const File& file, const std::string& name, const std::string& attribute,
                          const std::string& value);

/// The string that `write_text_attribute` has written; empty when there is none.
std::string read_text_attribute(const File& file, const std::string& name,
                                const std::string& attribute, const std::string& path);

/// The scalar attributes of the root group by name; throws Error (65) when one is of another kind.
Attributes read_attributes(const File& file, const std::string& path);

}  // namespace bulksim::h5
