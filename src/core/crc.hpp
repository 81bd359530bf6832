#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bulksim {

/// CRC32C (Castagnoli); `before` is the CRC of the preceding bytes.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32 as in zip and gzip; `before` as above.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC32C of a record without its last four bytes, which store it.
template <class Record>
std::uint32_t crc_of_record(const Record& record) {
  static_assert(offsetof(Record, crc) == sizeof record - sizeof(std::uint32_t));
  return crc32c(std::as_bytes(std::span(&record, 1)).first(offsetof(Record, crc)));
}

}  // namespace bulksim
