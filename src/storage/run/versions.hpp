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
  std::string name;  ///< "000123-6f1c2a9b", below versions/
  std::string plan;  ///< 32 hex digits, as the manifest says
  std::int64_t bytes = 0;
  std::int64_t published = 0;  ///< seconds since 1970, by the clock of the file system
  bool current = false;        ///< CURRENT shows it
};

/// The text of _SUCCESS: the digest of the manifest and its totals. Throws Error (65) for what is
/// no manifest.
std::string success_json(const std::string& manifest_json);

/// Whether a tree was finalized: _SUCCESS is the one of MANIFEST.json, and every file has its size.
bool is_finalized(FileCalls& calls, const std::string& folder);

/// The number of a version "000123-6f1c2a9b"; 0 for any other name.
std::int64_t version_number(const std::string& name);

/// Name of the version that CURRENT shows; empty when it shows none.
std::string current_version(FileCalls& calls, const std::string& output);

/// Lets CURRENT show a version, by one rename.
void set_current(FileCalls& calls, const std::string& output, const std::string& name);

/// Published versions of an output folder, oldest first. Folders that are not finalized versions of
/// this program are left out. Throws Error (66) when `output` is no output folder.
std::vector<Version> list_versions(FileCalls& calls, const std::string& output);

/// The version of a number; throws Error (66) when there is none.
Version find_version(FileCalls& calls, const std::string& output, std::int64_t number);

/// What a removal has done; a failure is for a warning and nothing else.
struct Removal {
  std::vector<std::string> removed;
  std::vector<std::string> failures;
};

/// Removes all but the newest `keep` versions and the current one: each loses its name first and
/// then its files. Ends after `seconds`; the next call goes on.
Removal retire_versions(FileCalls& calls, const std::string& output, std::int64_t keep,
                        double seconds);

/// Removes staging folders below `work_folder`, but that of `own_plan` (8 hex digits), that nothing
/// was written to since `before` (seconds since 1970).
Removal remove_stale_staging(FileCalls& calls, const std::string& work_folder,
                             const std::string& own_plan, std::int64_t before);

/// The folder of a version that the path of a result means: the version itself, the current one of
/// an output, or that of a file in it; "" when it means one file alone. Throws Error (66) when
/// there is no result, and Error (65) when CURRENT shows none.
std::string version_folder(FileCalls& calls, const std::string& path);

}  // namespace bulksim
