#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bulksim {

/// A colour: red, green, blue.
using Colour = std::array<std::uint8_t, 3>;

/// A picture of `width` columns, row-major, each pixel a place in the palette of at most 256
/// colours, as the bytes of a PNG file. Not compressed.
std::string encode_png(std::int64_t width, const std::vector<std::uint8_t>& pixels,
                       const std::vector<Colour>& palette);

/// Bytes in base64, as a data URL takes them.
std::string base64(const std::string& bytes);

}  // namespace bulksim
