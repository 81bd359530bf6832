#include <bit>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/checksum.hpp"

namespace bulksim {

namespace {

/// Bits that order as the numbers do.
std::uint32_t ordered(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

float from_ordered(std::uint32_t bits) {
  return std::bit_cast<float>((bits >> 31) != 0 ? bits & 0x7FFFFFFFU : ~bits);
}

}  // namespace

std::uint64_t preference(const ResultCut& cut, std::int64_t query, std::int64_t item, float score) {
  std::uint64_t high = ordered(score);
  if (cut.keep == Keep::kSample) {
    high =
        mix(mix(cut.seed, static_cast<std::uint64_t>(query)), static_cast<std::uint64_t>(item)) >>
        32;
  }
  return high << 32 | (~static_cast<std::uint64_t>(item) & 0xFFFFFFFF);
}

std::int64_t item_of(std::uint64_t preference) {
  return static_cast<std::int64_t>(~preference & 0xFFFFFFFF);
}

float score_of(std::uint64_t preference) {
  return from_ordered(static_cast<std::uint32_t>(preference >> 32));
}

PairWork& PairWork::operator+=(const PairWork& other) {
  cells += other.cells;
  skipped += other.skipped;
  candidates += other.candidates;
  products += other.products;
  useful_products += other.useful_products;
  return *this;
}

}  // namespace bulksim
