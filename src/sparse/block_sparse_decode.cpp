#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "bulksim/core/types.hpp"
#include "core/crc.hpp"
#include "core/half.hpp"
#include "sparse/block_sparse.hpp"
#include "sparse/row_block_layout.hpp"

namespace bulksim {

namespace {

using Bytes = std::span<const std::byte>;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The sections of a row block, all inside its bytes.
struct Sections {
  Bytes lengths;
  Bytes blocks;
  Bytes offsets;
  Bytes values;
};

/// Returns nothing when the sizes do not add up to that of the row block.
std::optional<Sections> slice(Bytes row_block, const RowBlockHeader& header) {
  const std::uint64_t room = row_block.size() - sizeof header;
  // each of these is at most `room` in a valid row block, so that the sums below cannot overflow
  if (header.nnz > room || header.length_bytes > room || header.block_bytes > room) return {};
  const std::uint64_t offsets = offset_bytes(static_cast<ColumnCoding>(header.columns), header.nnz);
  const std::uint64_t values = header.nnz * value_bytes(static_cast<ValueCoding>(header.values));
  if (header.length_bytes + header.block_bytes + offsets + values != room) return {};
  Sections sections;
  auto take = [rest = row_block.subspan(sizeof header)](std::uint64_t bytes) mutable {
    const Bytes taken = rest.first(bytes);
    rest = rest.subspan(bytes);
    return taken;
  };
  sections.lengths = take(header.length_bytes);
  sections.blocks = take(header.block_bytes);
  sections.offsets = take(offsets);
  sections.values = take(values);
  return sections;
}

/// Reads varints. After an invalid one, `finished` stays false and further values are 0.
class VarintReader {
 public:
  explicit VarintReader(Bytes bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  /// Varints of one and two bytes, nearly all of them, share one path without a branch, since their
  /// mixture is unpredictable.
  std::uint64_t next() {
    constexpr unsigned kMore = 0x80;
    if (end_ - at_ < 2) return any_length();
    const unsigned pair = load<std::uint16_t>(at_);
    if ((pair & (kMore << 8 | kMore)) == (kMore << 8 | kMore)) return any_length();
    const unsigned second = pair >> 7 & 1;  // 1: the second byte is part of the varint
    at_ += 1 + second;
    return (pair & 0x7F) | (pair >> 8 & (0x7F * second)) << 7;
  }
  bool finished() const { return good_ && at_ == end_; }

 private:
  std::uint64_t any_length() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && at_ != end_; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    at_ = end_;
    return 0;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool good_ = true;
};

bool decode_lengths(Bytes bytes, const RowBlockHeader& header, CsrMatrix& out) {
  VarintReader lengths(bytes);
  std::uint64_t left = header.nnz;
  std::int64_t end = out.row_offsets.back();
  for (unsigned row = 0; row < header.rows; ++row) {
    const std::uint64_t length = lengths.next();
    if (length > left) return false;
    left -= length;
    end += length;
    out.row_offsets.push_back(end);
  }
  return lengths.finished() && left == 0;
}

/// Unpacks column % 1024 of `out.size()` nonzeros.
void unpack_offsets(Bytes bytes, std::span<Column> out) {
  constexpr Column kMask = (1u << kBlockBits) - 1;
  const auto unpack = [&](std::uint64_t group, std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out[at + i] = static_cast<Column>(group >> (kBlockBits * i)) & kMask;
  };
  const std::byte* from = bytes.data();
  std::size_t at = 0;
  // a load of eight bytes stays in bounds as long as another group of five bytes follows
  for (; at + 2 * kGroupOffsets <= out.size(); at += kGroupOffsets, from += kGroupBytes)
    unpack(load<std::uint64_t>(from), at, kGroupOffsets);
  for (; at < out.size(); at += kGroupOffsets, from += kGroupBytes) {
    std::uint64_t group = 0;
    std::memcpy(&group, from, kGroupBytes);
    unpack(group, at, std::min<std::size_t>(kGroupOffsets, out.size() - at));
  }
}

/// Whether the columns of a row ascend and lie inside the matrix.
bool in_order(std::span<const Column> row, std::int64_t columns) {
  if (row.empty()) return true;
  bool good = row.back() < columns;
  for (std::size_t at = 1; at < row.size(); ++at)
    good &= row[at - 1] < row[at];
  return good;
}

/// Calls `see` with the columns of each row just appended to `out`.
template <class See>
bool all_rows(const RowBlockHeader& header, CsrMatrix& out, See see) {
  bool good = true;
  for (std::size_t row = out.row_offsets.size() - 1 - header.rows; row + 1 < out.row_offsets.size();
       ++row) {
    const std::size_t begin = out.row_offsets[row];
    const std::size_t end = out.row_offsets[row + 1];
    good &= see(std::span(out.col_indices.data() + begin, end - begin));
  }
  return good;
}

bool decode_short(Bytes bytes, const RowBlockHeader& header, std::span<Column> columns,
                  CsrMatrix& out) {
  for (std::size_t at = 0; at < columns.size(); ++at)
    columns[at] = load<std::uint16_t>(bytes.data() + 2 * at);
  return all_rows(header, out,
                  [&](std::span<const Column> row) { return in_order(row, out.columns); });
}

bool decode_blocks(const Sections& sections, const RowBlockHeader& header,
                   std::span<Column> columns, CsrMatrix& out) {
  unpack_offsets(sections.offsets, columns);
  VarintReader blocks(sections.blocks);
  const bool good = all_rows(header, out, [&](std::span<Column> row) {
    std::uint64_t block = 0;
    std::int64_t before = -1;
    bool ascend = true;
    for (Column& column : row) {
      block += blocks.next();
      const std::int64_t whole = block << kBlockBits | column;
      ascend &= before < whole;
      before = whole;
      column = static_cast<Column>(whole);
    }
    return ascend & (before < out.columns);
  });
  return good && blocks.finished();
}

bool decode_columns(const Sections& sections, const RowBlockHeader& header, CsrMatrix& out) {
  const std::size_t first = out.col_indices.size();
  out.col_indices.resize(first + header.nnz);
  const auto columns = std::span(out.col_indices).subspan(first);
  return header.columns == static_cast<std::uint8_t>(ColumnCoding::kShort)
             ? decode_short(sections.offsets, header, columns, out) && sections.blocks.empty()
             : decode_blocks(sections, header, columns, out);
}

template <class T, class Convert>
bool convert_values(Bytes bytes, std::span<double> out, Convert convert) {
  bool good = true;
  const std::byte* from = bytes.data();
  for (std::size_t at = 0; at < out.size(); ++at)
    good &= convert(load<T>(from + sizeof(T) * at), out[at]);
  return good;
}

bool decode_values(Bytes bytes, ValueCoding coding, std::span<double> out) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const auto widen = [](auto from, double& to) {
    to = from;
    return std::fabs(to) <= kLargest;  // also false for NaN
  };
  switch (coding) {
    case ValueCoding::kHalf:
      return convert_values<std::uint16_t>(bytes, out, [](std::uint16_t half, double& to) {
        to = from_half(half);
        return !is_special_half(half);
      });
    case ValueCoding::kFloat:
      return convert_values<float>(bytes, out, widen);
    case ValueCoding::kDouble:
      return convert_values<double>(bytes, out, widen);
  }
  return false;
}

}  // namespace

std::string decode_row_block(Bytes row_block, CsrMatrix& out) {
  if (row_block.size() < sizeof(RowBlockHeader)) return "it is truncated";
  if (load<std::uint32_t>(row_block.data()) != crc32c(row_block.subspan(kCheckedFrom))) {
    return "its checksum does not match";
  }
  return decode_unchecked(row_block, out);
}

std::string decode_unchecked(Bytes row_block, CsrMatrix& out) {
  if (row_block.size() < sizeof(RowBlockHeader)) return "it is truncated";
  const auto header = load<RowBlockHeader>(row_block.data());
  if (header.rows > kRowBlockRows || header.columns > static_cast<unsigned>(ColumnCoding::kShort) ||
      header.values > static_cast<unsigned>(ValueCoding::kDouble)) {
    return "it has an invalid header";
  }
  const auto sections = slice(row_block, header);
  if (!sections) return "its sizes do not add up";
  if (!decode_lengths(sections->lengths, header, out)) return "its row lengths do not add up";
  if (!decode_columns(*sections, header, out)) return "its columns are damaged";
  const std::size_t first = out.values.size();
  out.values.resize(first + header.nnz);
  if (!decode_values(sections->values, static_cast<ValueCoding>(header.values),
                     std::span(out.values).subspan(first))) {
    return "its values are not finite";
  }
  return {};
}

}  // namespace bulksim
