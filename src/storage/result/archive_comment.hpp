#pragma once

#include <string>

#include "bulksim/core/file.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// The comment of a .npz archive with these attributes, in JSON; the digest of all bytes before it
/// follows (see `NpzWriter`).
std::string archive_comment(const FileAttributes& attributes);

/// The attributes in the comment of an archive; empty for any other file.
FileAttributes read_archive_attributes(FileCalls& calls, const std::string& path);

/// Whether a file ends with the comment of an archive of this or an older version.
bool is_result_archive(FileCalls& calls, const std::string& path);

/// What the digest at the end of an archive says about the other bytes.
enum class ArchiveDigest { kNone, kMatches, kDiffers };

/// Reads every byte. `kNone` only for the comments of older versions, which hold no digest.
ArchiveDigest check_archive_digest(FileCalls& calls, const std::string& path);

}  // namespace bulksim
