#include "bulksim/sparse/row_survey.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "bulksim/sparse/grid.hpp"

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

}  // namespace

ValueFacts& ValueFacts::operator+=(const ValueFacts& other) {
  integers = integers && other.integers;
  longest = std::max(longest, other.longest);
  return *this;
}

ValueFacts value_facts(CsrView canonical) {
  ValueFacts facts;
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto values = canonical.values_of(row);
    facts.longest = std::max(facts.longest, norm_of(values));
    facts.integers = facts.integers && std::ranges::all_of(values, is_integer);
  }
  return facts;
}

/// One call of the hash for all rows: a call for each piece of a row costs more than its bytes.
Digest frame_digest(CsrView canonical) {
  static_assert(sizeof(Column) == 4);
  constexpr std::size_t kLength = sizeof(std::uint64_t);
  constexpr std::size_t kEntry = sizeof(Column) + sizeof(double);
  std::vector<std::byte> bytes(static_cast<std::size_t>(canonical.rows()) * kLength +
                               static_cast<std::size_t>(canonical.nnz()) * kEntry);
  std::byte* to = bytes.data();
  const auto put = [&](std::span<const std::byte> piece) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  };
  for (std::int64_t row = 0; row < canonical.rows(); ++row) {
    const auto columns = canonical.columns_of(row);
    const std::uint64_t length = columns.size();
    put(std::as_bytes(std::span(&length, 1)));
    put(std::as_bytes(columns));
    put(std::as_bytes(canonical.values_of(row)));
  }
  return digest_of(bytes);
}

std::int64_t longest_row(CsrView rows) {
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    longest = std::max(longest, static_cast<std::int64_t>(rows.values_of(row).size()));
  }
  return longest;
}

}  // namespace bulksim
