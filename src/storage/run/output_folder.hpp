#pragma once

#include <string>

#include <sys/types.h>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

inline constexpr const char* kMarkerName = ".bulksim";

Error not_ours(const std::string& path, const std::string& reason);

/// Creates a folder and returns whether it did; it may exist (a symbolic link to one does not
/// count).
bool make_folder(FileCalls& calls, const std::string& path, mode_t mode);

/// Creates a folder inside `root`; it must be on the same file system, so that files can be renamed
/// between them.
void make_inner_folder(FileCalls& calls, const std::string& root, const std::string& path,
                       mode_t mode);

/// What a folder was before it was claimed.
enum class Claim {
  kOurs,   ///< it had the marker
  kEmpty,  ///< it was empty
  kNew,    ///< it did not exist
};

/// Claims a folder for this program: a new or empty one, or one with the marker of an earlier run.
/// Leftovers of runs that were killed while marking it begin with the name of the marker and are
/// ignored. Several processes may claim a folder at the same time, and all succeed.
Claim claim_folder(FileCalls& calls, const std::string& path, mode_t mode);

/// Removes leftovers of runs that were killed while marking the folder.
void remove_marker_leftovers(FileCalls& calls, const std::string& path);

}  // namespace bulksim
