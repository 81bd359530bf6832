#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

/// Many short strings, stored contiguously.
struct StringTable {
  std::vector<std::int64_t> offsets{0};  ///< text i is bytes [offsets[i], offsets[i + 1])
  std::string bytes;

  std::int64_t size() const { return std::ssize(offsets) - 1; }
  bool empty() const { return offsets.size() == 1; }
  std::string_view operator[](std::int64_t i) const {
    const std::size_t at = i;
    return std::string_view(bytes).substr(offsets[at], offsets[at + 1] - offsets[at]);
  }
  void add(std::string_view text) {
    bytes += text;
    offsets.push_back(std::ssize(bytes));
  }
  /// XXH3-128 of offsets and bytes.
  Digest digest() const;
  bool operator==(const StringTable&) const = default;
};

}  // namespace bulksim
