#include "bulksim/sparse/row_survey.hpp"

#include <algorithm>
#include <span>

namespace bulksim {

Digest frame_digest(CsrView canonical) {
  static_assert(sizeof(Column) == 4);
  Hasher hasher;
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto columns = canonical.columns_of(row);
    const std::uint64_t length = columns.size();
    hasher.update(std::as_bytes(std::span(&length, 1)));
    hasher.update(std::as_bytes(columns));
    hasher.update(std::as_bytes(canonical.values_of(row)));
  }
  return hasher.digest();
}

std::int64_t longest_row(CsrView rows) {
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    longest = std::max(longest, static_cast<std::int64_t>(rows.values_of(row).size()));
  }
  return longest;
}

}  // namespace bulksim
