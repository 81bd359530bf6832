#include "bulksim/core/text_list.hpp"

#include <span>

namespace bulksim {

Digest TextList::digest() const {
  Hasher hasher;
  hasher.update(std::as_bytes(std::span(offsets)));
  hasher.update(std::as_bytes(std::span(bytes)));
  return hasher.digest();
}

}  // namespace bulksim
