#include "bulksim/sparse/row_survey.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

namespace {

bool is_integer(double value) {
  return std::fabs(value) < 0x1p31 &&
         value == static_cast<double>(static_cast<std::int32_t>(value));
}

double norm_of(std::span<const double> values) {
  const RowScale scale = row_scale(values);
  return times_power_of_two(scale.norm, scale.exponent);
}

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
  integers = integers && other.integers;
  longest = std::max(longest, other.longest);
  return *this;
}

ValueInfo value_info(CsrView canonical) {
  ValueInfo info;
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto values = canonical.values_of(row);
    info.longest = std::max(info.longest, norm_of(values));
    info.integers = info.integers && std::ranges::all_of(values, is_integer);
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
