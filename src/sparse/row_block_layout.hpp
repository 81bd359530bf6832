#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace bulksim {

enum class ColumnCoding : std::uint8_t { kBlocks, kShort };
enum class ValueCoding : std::uint8_t { kHalf, kFloat, kDouble };

inline constexpr unsigned kBlockBits = 10;  // a block is 1,024 columns
inline constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << (32 - kBlockBits);
/// Offsets of four nonzeros are packed into five bytes.
inline constexpr std::uint64_t kGroupOffsets = 4;
inline constexpr std::uint64_t kGroupBytes = 5;

/// Header of a row block, in memory and in the file.
struct RowBlockHeader {
  std::uint32_t crc = 0;  // CRC32C of all bytes after these four
  std::uint16_t rows = 0;
  std::uint8_t columns = 0;  // a ColumnCoding
  std::uint8_t values = 0;   // a ValueCoding
  std::uint64_t nnz = 0;
  std::uint64_t length_bytes = 0;  // of the varints of row lengths
  std::uint64_t block_bytes = 0;   // of the varints of block numbers; 0 with short columns
};
static_assert(sizeof(RowBlockHeader) == 32);
inline constexpr std::size_t kCheckedFrom = sizeof(RowBlockHeader::crc);

constexpr std::uint64_t value_bytes(ValueCoding coding) {
  return coding == ValueCoding::kHalf ? 2 : coding == ValueCoding::kFloat ? 4 : 8;
}

/// Bytes of the columns section after the block numbers.
constexpr std::uint64_t offset_bytes(ColumnCoding coding, std::uint64_t nnz) {
  return coding == ColumnCoding::kShort ? 2 * nnz
                                        : (nnz + kGroupOffsets - 1) / kGroupOffsets * kGroupBytes;
}

}  // namespace bulksim
