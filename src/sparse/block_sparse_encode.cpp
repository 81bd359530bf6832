#include <algorithm>
#include <bit>
#include <cstring>

#include "bulksim/core/types.hpp"
#include "core/crc.hpp"
#include "core/half.hpp"
#include "sparse/block_sparse.hpp"
#include "sparse/row_block_layout.hpp"

namespace bulksim {

namespace {

static_assert(std::endian::native == std::endian::little,
              "row blocks are written as they are in memory");

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

/// The nonzeros of the rows; a view keeps absolute offsets, so they may begin anywhere.
template <class T>
std::span<const T> entries_of(CsrView rows, std::span<const T> all) {
  return all.subspan(rows.row_offsets.front(), rows.nnz());
}

void put_blocks(CsrView rows, std::vector<std::byte>& out) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    Column before = 0;
    for (const Column column : rows.columns_of(row)) {
      put_varint(out, (column >> kBlockBits) - before);
      before = column >> kBlockBits;
    }
  }
}

void put_offsets(std::span<const Column> columns, std::vector<std::byte>& out) {
  constexpr Column kMask = (1u << kBlockBits) - 1;
  for (std::size_t at = 0; at < columns.size(); at += kGroupOffsets) {
    std::uint64_t group = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(kGroupOffsets, columns.size() - at); ++i) {
      group |= std::uint64_t{columns[at + i] & kMask} << (kBlockBits * i);
    }
    const auto bytes = std::as_bytes(std::span(&group, 1)).first(kGroupBytes);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
}

ValueCoding narrowest(std::span<const double> values) {
  bool half = true;
  bool single = true;
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    single &= narrow == value;
    half &= fits_half(narrow);
  }
  return single && half ? ValueCoding::kHalf : single ? ValueCoding::kFloat : ValueCoding::kDouble;
}

void put_values(std::span<const double> values, ValueCoding coding, std::vector<std::byte>& out) {
  out.reserve(out.size() + values.size() * value_bytes(coding));
  for (const double value : values) {
    switch (coding) {
      case ValueCoding::kHalf:
        put(out, round_to_half(static_cast<float>(value)));
        break;
      case ValueCoding::kFloat:
        put(out, static_cast<float>(value));
        break;
      case ValueCoding::kDouble:
        put(out, value);
        break;
    }
  }
}

}  // namespace

void encode_row_block(CsrView rows, std::vector<std::byte>& out) {
  BULKSIM_EXPECT(rows.rows() <= kRowBlockRows);
  const auto columns = entries_of(rows, rows.col_indices);
  const auto values = entries_of(rows, rows.values);
  const std::size_t start = out.size();
  RowBlockHeader header;
  header.rows = static_cast<std::uint16_t>(rows.rows());
  header.nnz = rows.nnz();
  out.resize(start + sizeof header);
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    put_varint(out, rows.columns_of(row).size());
  header.length_bytes = out.size() - start - sizeof header;

  const std::size_t columns_at = out.size();
  put_blocks(rows, out);
  header.block_bytes = out.size() - columns_at;
  const Column largest = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  const std::uint64_t blocks_total =
      header.block_bytes + offset_bytes(ColumnCoding::kBlocks, header.nnz);
  if (largest <= 0xFFFF && offset_bytes(ColumnCoding::kShort, header.nnz) < blocks_total) {
    header.columns = static_cast<std::uint8_t>(ColumnCoding::kShort);
    header.block_bytes = 0;
    out.resize(columns_at);
    for (const Column column : columns)
      put(out, static_cast<std::uint16_t>(column));
  } else {
    put_offsets(columns, out);
  }

  const ValueCoding coding = narrowest(values);
  header.values = static_cast<std::uint8_t>(coding);
  put_values(values, coding, out);
  std::memcpy(&out[start], &header, sizeof header);
  header.crc = crc32c(std::span(out).subspan(start + kCheckedFrom));
  std::memcpy(&out[start], &header, sizeof header);
}

}  // namespace bulksim
