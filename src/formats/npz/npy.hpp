#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/npz/zip_archive.hpp"

namespace bulksim {

/// Type of the elements of an array, such as '<f8'.
struct NpyType {
  char kind = 0;  ///< f, i, u, b; S and U for strings
  int bytes = 0;
  bool swapped = false;  ///< elements have the other byte order
  std::string text;      ///< as in the file
};

/// The header of an .npy file.
struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  std::int64_t count() const;  ///< elements; -1 beyond 64 bits
};

/// Reads the text of a header, "{'descr': '<f8', ...}"; every Error (65) starts with `shown`.
NpyHeader parse_npy_header(const std::string& text, const std::string& shown);

/// An .npy file of its own.
struct NpyFile {
  NpyHeader header;
  std::int64_t data_at = 0;  ///< in the file, in bytes
};

/// Reads the header of an .npy file, version 1.0; throws Error (65) when the size of the file is
/// not that of its elements.
NpyFile open_npy(const File& file);

/// An array in an archive, read element by element in its order.
class NpyReader {
 public:
  /// Reads the header. The size of the member must be that of the elements.
  NpyReader(const ZipArchive& archive, const ZipMember& member);

  const NpyHeader& header() const { return header_; }
  const std::string& shown() const { return content_.shown(); }
  std::int64_t left() const { return left_; }  ///< elements

  /// Values as float64. An integer that float64 cannot represent is an Error (65).
  void read(std::span<double> to);
  /// Integers; the element type must be an integer type.
  void read(std::span<std::int64_t> to);
  /// The only element of an array of strings.
  std::string read_text();
  void skip(std::int64_t elements);
  /// Reads to the end, where the checksum is compared.
  void finish();

 private:
  template <class T, class To>
  void read_as(std::span<To> to);
  template <class To>
  void read_any(std::span<To> to);
  [[noreturn]] void fail(const std::string& what) const;

  ZipMemberReader content_;
  NpyHeader header_;
  std::int64_t left_ = 0;
  std::vector<std::byte> raw_;
};

}  // namespace bulksim
