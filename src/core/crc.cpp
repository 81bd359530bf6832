#include "core/crc.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace bulksim {

namespace {

/// The library has 31-bit lengths.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 30;

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kBytesAtOnce));
    // the library only reads; its declaration has no const
    auto* from = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    crc = crc32_iscsi(from, static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

}  // namespace bulksim
