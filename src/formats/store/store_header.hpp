#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "bulksim/core/checksum.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "core/crc.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

/// The arrays of a store, in the order of the file.
enum class StoreArray {
  kRowBlocks,
  kRowBlockOffsets,
  kRowBlockDigests,
  kRowBlockNnz,
  kIdOffsets,
  kIdBytes,
  kTermOffsets,
  kTermBytes,
};
inline constexpr std::size_t kStoreArrays = 8;

struct ArrayPlace {
  std::int64_t at = 0;
  std::int64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC32C; 0 for the row blocks, which carry their own
  std::uint32_t is_there = 0;
};

inline constexpr std::uint32_t kStoreVersion = 2;

/// The header of a store, the same bytes in memory and in the file.
struct StoreHeader {
  std::array<char, 16> magic = kStoreMagic;
  std::uint32_t version = kStoreVersion;
  std::uint32_t ends_with_last_column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;
  std::int64_t longest_row = 0;
  CanonicalizationCounts counts;
  Digest vocabulary;
  std::array<ArrayPlace, kStoreArrays> arrays;
  std::uint32_t unused = 0;
  std::uint32_t crc = 0;  // CRC32C of all bytes before these four

  const ArrayPlace& place(StoreArray array) const {
    return arrays[static_cast<std::size_t>(array)];
  }
};
static_assert(std::is_trivially_copyable_v<StoreHeader>);
static_assert(sizeof(StoreHeader) == 304, "no padding, so every byte is checked");

/// What follows the header from version 2 on.
struct StoreHeaderExtension {
  RoundingInfo rounding;
  std::uint32_t unused = 0;
  std::uint32_t crc = 0;  // CRC32C of all bytes before these four
};
static_assert(std::is_trivially_copyable_v<StoreHeaderExtension>);
static_assert(sizeof(StoreHeaderExtension) == 24, "no padding, so every byte is checked");

/// CRC32C of a struct whose last member it is.
template <class T>
std::uint32_t crc_of(const T& value) {
  return crc32c(std::as_bytes(std::span(&value, 1)).first(offsetof(T, crc)));
}

inline StoreSizes sizes_of(const StoreHeader& header) {
  using enum StoreArray;
  const auto bytes = [&](StoreArray array) { return header.place(array).bytes; };
  return {bytes(kRowBlocks) + bytes(kRowBlockOffsets),
          bytes(kRowBlockDigests) + bytes(kRowBlockNnz), bytes(kIdOffsets) + bytes(kIdBytes),
          bytes(kTermOffsets) + bytes(kTermBytes)};
}

}  // namespace bulksim
