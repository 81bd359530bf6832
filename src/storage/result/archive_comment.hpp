#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "core/text/json.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// The comment of a .npz archive with these attributes, in JSON; the digest of all bytes before it
/// follows (see `NpzWriter`).
std::string archive_comment(const FileAttributes& attributes);

/// The attributes in the comment of an archive; empty for any other file.
FileAttributes read_archive_attributes(FileCalls& calls, const std::string& path);

/// Whether a file ends with the comment of an archive of this or an older version.
bool is_result_archive(FileCalls& calls, const std::string& path);

/// What the digest in a file says about its other bytes.
enum class FileDigest {
  kNone,  ///< there is none, as in results of older versions
  kMatches,
  kDiffers,
};

/// Compares an archive with the digest at its end; reads every byte.
FileDigest check_archive(FileCalls& calls, const std::string& path);

/// Attributes as a JSON object.
JsonObject to_json(const FileAttributes& attributes);

}  // namespace bulksim
