#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// One file of a version. Of a part file `digest` covers the first `digest_bytes` bytes (the HDF5
/// metadata); the tiles behind them are covered one by one by `tiles.idx`.
struct ManifestFile {
  std::string path;  ///< relative to the version
  std::int64_t bytes = 0;
  std::int64_t digest_bytes = 0;  ///< equals `bytes` for everything but part files
  Digest digest;

  bool operator==(const ManifestFile&) const = default;
};

/// Every file of a version but the reports, the manifest and _SUCCESS.
struct Manifest {
  std::string plan;                 ///< 32 hex digits
  std::vector<ManifestFile> files;  ///< `from_json` gives them ascending by path

  /// Equal plans and sets of files make equal text.
  std::string to_json() const;
  /// Throws Error (65) on anything but the text that `to_json` makes of a manifest with plain paths
  /// (parts of letters, digits, '.', '_' and '-', none of which begins with a dot).
  static Manifest from_json(const std::string& text);
  bool operator==(const Manifest&) const = default;
};

/// The entry of a file: its size, and the digest of its first `digest_bytes` (-1: of all).
ManifestFile describe_file(FileCalls& calls, const std::string& root, const std::string& path,
                           std::int64_t digest_bytes = -1);

}  // namespace bulksim
