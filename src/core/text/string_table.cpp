#include "bulksim/core/string_table.hpp"

#include <span>

namespace bulksim {

Digest StringTable::digest() const {
  Hasher hasher;
  hasher.update(std::as_bytes(std::span(offsets)));
  hasher.update(std::as_bytes(std::span(bytes)));
  return hasher.digest();
}

}  // namespace bulksim
