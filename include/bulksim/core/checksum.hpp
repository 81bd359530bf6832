#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bulksim {

/// An XXH3-128 value. `hex()` is what `xxh128sum` prints.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  std::string hex() const;
  /// Parses 32 hex digits; throws Error (65) for anything else.
  static Digest from_hex(std::string_view text);
  auto operator<=>(const Digest&) const = default;
};

/// XXH3-128 of a stream of bytes. `reset` starts a new stream without allocating.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void reset();
  void update(std::span<const std::byte> bytes);
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest digest_of(std::span<const std::byte> bytes);

/// A 64-bit hash of two numbers (SplitMix64), the source of every pseudo-random choice.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace bulksim
