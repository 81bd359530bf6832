#pragma once

#include <compare>
#include <cstdint>

namespace bulksim {

/// Column of a matrix. Labels of a query vocabulary have the same width.
using Column = std::uint32_t;

/// Columns of a matrix, of which the last is the largest number of 32 bits.
inline constexpr std::int64_t kMostColumns = std::int64_t{1} << 32;

/// Rows [begin, end) of a file or matrix.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin >= end; }
  auto operator<=>(const RowRange&) const = default;
};

/// Shape of the result: one row per query, one column per item.
struct MatrixShape {
  std::int64_t queries = 0;
  std::int64_t items = 0;

  auto operator<=>(const MatrixShape&) const = default;
};

/// How the values of a matrix are stored.
enum class ValueType { kFloat32, kFloat16 };

inline constexpr std::int64_t bytes_of(ValueType type) {
  return type == ValueType::kFloat16 ? 2 : 4;
}

/// Rows and columns of a fine block of the block sums, and items per row identity.
inline constexpr std::int64_t kFineRows = 1024;

/// Rows of one row block of an input, which has one digest.
inline constexpr std::int64_t kRowBlockRows = 1024;

/// total / size, rounded up.
inline constexpr std::int64_t divide_up(std::int64_t total, std::int64_t size) {
  return (total + size - 1) / size;
}

}  // namespace bulksim
