#pragma once

#include <string>

#include "storage/run/lease.hpp"

namespace bulksim {

/// Lease files have a fixed size, so that they can be rewritten in place.
inline constexpr std::size_t kLeaseBytes = 1024;

std::string encode_lease(const LeaseHolder& holder);

/// A unique token for a lease.
std::string new_token();

}  // namespace bulksim
