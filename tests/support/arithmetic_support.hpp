#pragma once

// Shared by tests of the arithmetic: true scores, and rows that are hard to get right.

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/test_support.hpp"

namespace bulksim::test {

__extension__ using Wide = __int128;

/// The dot product of two canonical rows in long double, from the stored values.
inline long double true_dot(CsrView queries, std::int64_t q, CsrView items, std::int64_t i) {
  const auto q_columns = queries.columns_of(q);
  const auto i_columns = items.columns_of(i);
  long double sum = 0.0L;
  for (std::size_t x = 0, y = 0; x < q_columns.size() && y < i_columns.size();) {
    if (q_columns[x] == i_columns[y]) {
      sum += static_cast<long double>(queries.values_of(q)[x++]) * items.values_of(i)[y++];
    } else {
      q_columns[x] < i_columns[y] ? ++x : ++y;
    }
  }
  return sum;
}

/// The cosine in the same way; 0 for an empty row.
inline double true_cosine(CsrView queries, std::int64_t q, CsrView items, std::int64_t i) {
  const long double squares = true_dot(queries, q, queries, q) * true_dot(items, i, items, i);
  if (squares == 0.0L) return 0.0;
  return static_cast<double>(true_dot(queries, q, items, i) / std::sqrt(squares));
}

/// Sum of squares of a quantized row.
inline std::int64_t squares_of(const QuantizedRows& rows, std::int64_t row) {
  return exact_sum(rows, row, rows, row);
}

/// The sum of a row with itself for a row of a length of one in Q26.
inline constexpr std::int64_t kOneInQ26 = std::int64_t{1} << 52;

/// Two rows in columns 0 to 199 whose true cosine is 1 - 7e-8, although A is over 2^52 in Q26: all
/// values but the first are just above the middle of two steps, so that they are rounded up.
inline std::pair<Entries, Entries> rows_rounded_up() {
  constexpr Column kLength = 200;
  const double middle = std::floor(std::sqrt(static_cast<double>(kOneInQ26) / kLength)) + 0.6;
  const auto row_of = [&](auto&& shift) {
    Entries row{{0, 0.0}};
    double rest = static_cast<double>(kOneInQ26);  // the first value makes the norm 2^26
    for (Column column = 1; column < kLength; ++column) {
      const double value = middle + shift(column);
      rest -= value * value;
      row.emplace_back(column, value);
    }
    row[0].second = std::sqrt(rest);
    return row;
  };
  return {row_of([](Column column) { return column % 7 * 1.0; }),
          row_of([](Column column) { return column % 2 == 0 ? 1770.0 : -1770.0; })};
}

}  // namespace bulksim::test
