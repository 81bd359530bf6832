#include "job/inspect/report/png.hpp"

#include <algorithm>
#include <span>

#include "core/crc.hpp"

namespace bulksim {

namespace {

void append_word(std::string& to, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to += static_cast<char>((word >> shift) & 0xFF);
}

void append_chunk(std::string& png, const std::string& kind, const std::string& data) {
  append_word(png, static_cast<std::uint32_t>(data.size()));
  const std::string body = kind + data;
  png += body;
  append_word(png, crc32(std::as_bytes(std::span(body))));
}

/// A zlib stream of uncompressed blocks.
std::string stored(const std::string& data) {
  constexpr std::size_t kMostBytes = 65'535;
  std::string stream = "\x78\x01";
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(kMostBytes, data.size() - at);
    stream += at + size == data.size() ? '\1' : '\0';
    for (const std::size_t word : {size, ~size}) {
      stream += static_cast<char>(word & 0xFF);
      stream += static_cast<char>((word >> 8) & 0xFF);
    }
    stream.append(data, at, size);
    at += size;
  } while (at < data.size());
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : data) {
    low = (low + static_cast<std::uint8_t>(byte)) % 65'521;
    high = (high + low) % 65'521;
  }
  append_word(stream, (high << 16) | low);
  return stream;
}

}  // namespace

std::string encode_png(std::int64_t width, const std::vector<std::uint8_t>& pixels,
                       const std::vector<Colour>& palette) {
  const std::size_t columns = width;
  std::string head;
  append_word(head, static_cast<std::uint32_t>(columns));
  append_word(head, static_cast<std::uint32_t>(pixels.size() / columns));
  head += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, a palette
  std::string colours;
  for (const Colour& colour : palette)
    colours.append(colour.begin(), colour.end());
  std::string rows;
  for (std::size_t at = 0; at < pixels.size(); at += columns) {
    rows += '\0';  // no filter
    rows.append(pixels.begin() + at, pixels.begin() + at + columns);
  }
  std::string png = "\x89PNG\r\n\x1A\n";
  append_chunk(png, "IHDR", head);
  append_chunk(png, "PLTE", colours);
  append_chunk(png, "IDAT", stored(rows));
  append_chunk(png, "IEND", "");
  return png;
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i)
      word = (word << 8) | (i < size ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += digit <= size ? kDigits[(word >> (18 - 6 * digit)) & 63] : '=';
  }
  return text;
}

}  // namespace bulksim
