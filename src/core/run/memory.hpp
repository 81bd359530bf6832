#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bulksim {

/// Bytes of memory that a process uses at most where the user sets no limit: 70 % of what this host
/// and the control group of the process still allow.
std::int64_t memory_share();

/// Resident memory of this process in bytes: now, and the largest so far.
std::int64_t resident_memory();
std::int64_t peak_memory();

/// The number at the start of a file of /proc or /sys; nothing for "max", or where there is no such
/// file.
std::optional<std::int64_t> number_in(const std::string& file);

}  // namespace bulksim
