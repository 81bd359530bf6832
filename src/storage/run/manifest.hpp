#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// One file of a version. For a part file `digest` covers the first `digest_bytes` bytes (the HDF5
/// metadata); each tile after them has its digest in `tiles.idx`.
struct ManifestFile {
  std::string path;  ///< relative to the version
  std::int64_t bytes = 0;
  std::int64_t digest_bytes = 0;  ///< equals `bytes`, except for part files
  Digest digest;

  bool operator==(const ManifestFile&) const = default;
};

/// All files of a version except the reports, the manifest and _SUCCESS.
struct Manifest {
  std::string plan;                 ///< 32 hex digits
  std::vector<ManifestFile> files;  ///< `from_json` returns them in ascending order of path

  /// Equal plans and sets of files produce equal text.
  std::string to_json() const;
  /// Throws Error (65) unless `text` is what `to_json` produces for a manifest with plain paths
  /// (parts of letters, digits, '.', '_' and '-', none beginning with a dot).
  static Manifest from_json(const std::string& text);
  bool operator==(const Manifest&) const = default;
};

/// The entry of a file: its size, and the digest of its first `digest_bytes` bytes (-1: of all).
ManifestFile describe_file(FileCalls& calls, const std::string& root, const std::string& path,
                           std::int64_t digest_bytes = -1);

}  // namespace bulksim
