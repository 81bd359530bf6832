#include <bit>

#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

namespace {

float from_ordered(std::uint32_t bits) {
  return std::bit_cast<float>((bits >> 31) != 0 ? bits & 0x7FFFFFFFU : ~bits);
}

}  // namespace

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
