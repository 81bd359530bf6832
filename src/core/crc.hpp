#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bulksim {

/// CRC32C (Castagnoli) of bytes; `before` is that of the bytes that came before them.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The CRC-32 of zip and gzip; `before` as above.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace bulksim
