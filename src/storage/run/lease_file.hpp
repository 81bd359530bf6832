#pragma once

#include <string>

#include "storage/run/lease.hpp"

namespace bulksim {

/// A lease file has one size, so that it can be rewritten in place.
inline constexpr std::size_t kLeaseBytes = 1024;

std::string encode_lease(const LeaseHolder& holder);

/// A name for one lease that no other has.
std::string new_token();

}  // namespace bulksim
