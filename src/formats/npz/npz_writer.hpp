#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"

namespace bulksim {

/// The header of an .npy file: magic, version 1.0, and a dictionary, padded to a multiple of 64
/// bytes. `type` is "<f4", `shape` "3, 4" or "5,".
std::string npy_head(const std::string& type, const std::string& shape);

/// Writes a CSR matrix of float32 values as the .npz file that scipy.sparse.load_npz reads: an
/// uncompressed zip64 archive of indices, indptr, format, shape and data. The last 32 characters,
/// which end the comment of the archive, are the XXH3-128 of all bytes before them. Memory does not
/// grow with the number of values. Equal calls write equal bytes.
class NpzWriter {
 public:
  /// `file` is empty and must outlive the writer. `row_offsets` has rows + 1 entries; `comment`, of
  /// at most 65,000 bytes, is that of the archive.
  NpzWriter(const File& file, std::int64_t columns, const std::vector<std::int64_t>& row_offsets,
            const std::string& comment);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  /// The values of the next row, columns ascending.
  void append_row(std::span<const std::int64_t> columns, std::span<const float> values);
  /// Writes what is left: headers, directory and comment.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bulksim
