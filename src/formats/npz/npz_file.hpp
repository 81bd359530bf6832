#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "formats/npz/npy.hpp"
#include "formats/shared/entry_stream.hpp"

namespace bulksim {

/// An archive of scipy.sparse.save_npz, and the content of its small members. Every fault is an
/// Error (65) with the name of the member.
class NpzFile {
 public:
  NpzFile(FileCalls& calls, const std::string& path);

  const std::string& format() const { return format_; }  ///< csr, csc or coo
  const MatrixInfo& info() const { return info_; }       ///< without the number of nonzeros
  bool has(const std::string& name) const { return archive_.find(name) != nullptr; }
  NpyReader open(const std::string& name) const;
  /// An array of one dimension.
  NpyReader open_array(const std::string& name) const;

 private:
  void read_shape();

  ZipArchive archive_;
  std::string format_;
  MatrixInfo info_;
};

/// The ends of rows (csr) or columns (csc) among the entries, compared with their number.
class OffsetReader {
 public:
  /// `group` is what errors call one of the `groups`.
  OffsetReader(const NpzFile& npz, std::int64_t groups, const char* group, std::int64_t entries);

  /// Appends the ends of the next groups.
  void read(std::int64_t groups, std::vector<std::int64_t>& ends);
  std::int64_t left() const { return offsets_.left(); }
  const std::string& shown() const { return offsets_.shown(); }

 private:
  NpyReader offsets_;
  const char* group_;
  std::int64_t entries_;
  std::int64_t before_ = 0;
  std::int64_t group_number_ = 0;
};

/// Throws Error (65) unless an array has `count` more numbers, one per entry.
void expect_one_each(const NpyReader& array, std::int64_t count);

/// The Error (65) of a row or column number outside the matrix.
[[noreturn]] void refuse_index(const std::string& where, std::int64_t index, const char* what,
                               std::int64_t count);

/// The entries of a csc or coo archive.
std::unique_ptr<EntryStream> open_npz_entries(const NpzFile& npz);

}  // namespace bulksim
