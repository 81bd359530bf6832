#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bulksim {

/// A colour: red, green, blue.
using Colour = std::array<std::uint8_t, 3>;

/// An uncompressed PNG file with `width` columns, row-major; each pixel is an index into a palette
/// of at most 256 colours.
std::string encode_png(std::int64_t width, const std::vector<std::uint8_t>& pixels,
                       const std::vector<Colour>& palette);

/// Bytes in base64, for a data URL.
std::string base64(const std::string& bytes);

}  // namespace bulksim
