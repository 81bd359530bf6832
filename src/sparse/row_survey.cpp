#include "bulksim/sparse/row_survey.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

namespace {

/// Buffers small pieces, since a call of the hash costs more than hashing a short row.
class PieceHasher {
 public:
  void update(std::span<const std::byte> piece) {
    if (piece.size() > buffer_.size() - used_) flush();
    if (piece.size() > buffer_.size()) return hasher_.update(piece);
    if (!piece.empty()) std::memcpy(buffer_.data() + used_, piece.data(), piece.size());
    used_ += piece.size();
  }
  Digest digest() {
    flush();
    return hasher_.digest();
  }

 private:
  void flush() {
    hasher_.update(std::span(buffer_).first(used_));
    used_ = 0;
  }

  Hasher hasher_;
  std::array<std::byte, 8192> buffer_;
  std::size_t used_ = 0;
};

}  // namespace

ValueInfo& ValueInfo::operator+=(const ValueInfo& other) {
  rounding.exact_rows += other.rounding.exact_rows;
  rounding.longest_rounded_row =
      std::max(rounding.longest_rounded_row, other.rounding.longest_rounded_row);
  longest = std::max(longest, other.longest);
  least_exponent = std::min(least_exponent, other.least_exponent);
  return *this;
}

ValueInfo value_info(CsrView canonical) {
  ValueInfo info;
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto values = canonical.values_of(row);
    const RowSize size = row_size(values);
    const std::optional<int> e = integer_exponent(values, size);
    info.longest = std::max(info.longest, size.length());
    if (e || values.empty()) ++info.rounding.exact_rows;
    if (e) {
      info.least_exponent = std::min(info.least_exponent, *e);
    } else {
      info.rounding.longest_rounded_row =
          std::max(info.rounding.longest_rounded_row, std::ssize(values));
    }
  }
  return info;
}

Digest row_block_digest(CsrView canonical) {
  static_assert(sizeof(Column) == 4);
  PieceHasher hasher;
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto columns = canonical.columns_of(row);
    const std::uint64_t length = columns.size();
    hasher.update(std::as_bytes(std::span(&length, 1)));
    hasher.update(std::as_bytes(columns));
    hasher.update(std::as_bytes(canonical.values_of(row)));
  }
  return hasher.digest();
}

void ContentHasher::add(const Digest& row_block) {
  const std::uint64_t words[] = {row_block.high, row_block.low};
  hasher_.update(std::as_bytes(std::span(words)));
}

std::int64_t longest_row(CsrView rows) {
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    longest = std::max(longest, static_cast<std::int64_t>(rows.values_of(row).size()));
  }
  return longest;
}

}  // namespace bulksim
