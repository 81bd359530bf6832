#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// One published version of an output folder.
struct Version {
  std::int64_t number = 0;
  std::string name;  ///< "000123-6f1c2a9b", relative to versions/
  std::string plan;  ///< 32 hex digits, from the manifest
  std::int64_t bytes = 0;
  std::int64_t published = 0;  ///< seconds since 1970, by the file system's clock
  bool current = false;        ///< CURRENT points to it
};

/// The text of _SUCCESS: the digest of the manifest and its totals. Throws Error (65) when the
/// manifest is invalid.
std::string success_json(const std::string& manifest_json);

/// What is wrong with _SUCCESS, the manifest or the size of a file of a version, or "".
std::string damage_of_version(FileCalls& calls, const std::string& folder);

/// Whether a tree is finalized: _SUCCESS matches MANIFEST.json, and every file has its size.
bool is_finalized(FileCalls& calls, const std::string& folder);

/// The number of a version such as "000123-6f1c2a9b"; 0 for any other name.
std::int64_t version_number(const std::string& name);

/// Name of the version to which CURRENT points; empty when there is none.
std::string current_version(FileCalls& calls, const std::string& output);

/// Makes CURRENT point to a version, by one rename.
void set_current(FileCalls& calls, const std::string& output, const std::string& name);

/// Published versions of an output folder, oldest first. Folders that are not finalized versions
/// are ignored. Throws Error (66) when `output` is not an output folder.
std::vector<Version> list_versions(FileCalls& calls, const std::string& output);

/// The version with this number; throws Error (66) when there is none.
Version find_version(FileCalls& calls, const std::string& output, std::int64_t number);

/// Results of a removal; failures are only logged as warnings.
struct Removal {
  std::vector<std::string> removed;
  std::vector<std::string> failures;
};

/// Removes all versions except the newest `keep` and the current one: each is first moved to the
/// trash, then deleted. Stops after `seconds`; the next call continues.
Removal retire_versions(FileCalls& calls, const std::string& output, std::int64_t keep,
                        double seconds);

/// Removes staging folders in `work_folder` that were last written before `before` (seconds since
/// 1970), except that of `own_plan` (8 hex digits).
Removal remove_stale_staging(FileCalls& calls, const std::string& work_folder,
                             const std::string& own_plan, std::int64_t before);

/// The version folder for the path of a result: a version itself, the current version of an output,
/// or the version that contains the file; "" for a single-file result. Throws Error (66) when there
/// is no result, and Error (65) when CURRENT does not point to a version.
std::string version_folder(FileCalls& calls, const std::string& path);

}  // namespace bulksim
