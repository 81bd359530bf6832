#pragma once

#include <string>

#include <sys/types.h>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

inline constexpr const char* kMarkerName = ".bulksim";

Error not_ours(const std::string& path, const std::string& reason);

/// Makes a folder, or finds that a folder (not a link to one) is there.
void make_folder(FileCalls& calls, const std::string& path, mode_t mode);

/// A folder inside `root`, on the same file system, so that a rename can cross between them.
void make_inner_folder(FileCalls& calls, const std::string& root, const std::string& path,
                       mode_t mode);

/// Takes a folder for this program: new, empty, or marked by an earlier run. What a run killed
/// while it marked the folder left there begins with the name of the marker. Several may claim a
/// folder at once, and all succeed.
void claim_folder(FileCalls& calls, const std::string& path, mode_t mode);

/// Removes what runs killed while they marked the folder have left.
void remove_marker_leftovers(FileCalls& calls, const std::string& path);

}  // namespace bulksim
