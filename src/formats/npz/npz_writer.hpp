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
/// uncompressed zip64 archive of indices, indptr, format, shape and data. Memory does not grow with
/// the number of values. Equal calls write equal bytes.
class NpzWriter {
 public:
  /// The file is replaced by `finish`. `row_offsets` has rows + 1 entries; `comment` is that of
  /// the archive.
  NpzWriter(FileCalls& calls, const std::string& path, std::int64_t columns,
            const std::vector<std::int64_t>& row_offsets, const std::string& comment);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  /// The values of the next row, columns ascending.
  void append_row(std::span<const std::int64_t> columns, std::span<const float> values);
  /// Makes the file durable under its name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bulksim
