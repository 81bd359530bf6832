#include "bulksim/core/checksum.hpp"

#include <charconv>
#include <cstdio>

#if BULKSIM_HAS_XXHASH_DISPATCH  // selects the best instruction set at run time
#define XXH_STATIC_LINKING_ONLY
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

Digest from_xxh(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

std::uint64_t parse_hex(std::string_view digits, std::string_view whole) {
  std::uint64_t value = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (status != std::errc{} || end != digits.data() + digits.size()) {
    throw Error(ExitCode::kDataError, "'" + std::string(whole) + "' is not a 128-bit digest");
  }
  return value;
}

}  // namespace

std::string Digest::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

Digest Digest::from_hex(std::string_view text) {
  if (text.size() != 32) {
    throw Error(ExitCode::kDataError, "'" + std::string(text) + "' is not a 128-bit digest");
  }
  return {parse_hex(text.substr(0, 16), text), parse_hex(text.substr(16), text)};
}

struct alignas(64) Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  reset();
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::reset() {
  XXH3_128bits_reset(&state_->xxh);
}

void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

Digest Hasher::digest() const {
  return from_xxh(XXH3_128bits_digest(&state_->xxh));
}

Digest digest_of(std::span<const std::byte> bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9E3779B97F4A7C15ULL * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace bulksim
