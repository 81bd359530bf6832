#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"

namespace bulksim {

enum class VersionsFormat { kText, kJson };

/// Prints the published versions of an output folder, oldest first.
void print_versions(FileCalls& calls, const std::string& output, VersionsFormat format,
                    std::ostream& out);

/// Makes another published version the current one. Throws Error (66) when there is no version of
/// that number, and Error (73) while a run is in progress.
void use_version(FileCalls& calls, const std::string& output, std::int64_t number, Log& log);

/// Removes all but the newest `keep` versions and the current one. Throws Error (73) while a run is
/// in progress.
void prune_versions(FileCalls& calls, const std::string& output, std::int64_t keep, Log& log);

}  // namespace bulksim
