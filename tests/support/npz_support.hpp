#pragma once

// Writes .npz files byte by byte according to the formats, independently of our reader.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include <zlib.h>

#include "bulksim/sparse/csr_matrix.hpp"
#include "core/half.hpp"

namespace bulksim::test {

template <class T>
void put_bytes(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct ZipOptions {
  int method = 0;           ///< 0: stored, 8: deflated
  bool zip64 = false;       ///< sizes and positions in zip64 fields
  bool local_sizes = true;  ///< false: the local headers have no sizes
};

class ZipWriter {
 public:
  explicit ZipWriter(ZipOptions options = {}) : options_(options) {}

  void add(const std::string& name, const std::string& content) {
    const auto* from = reinterpret_cast<const Bytef*>(content.data());
    const auto crc =
        static_cast<std::uint32_t>(::crc32(0, from, static_cast<uInt>(content.size())));
    const std::string packed = options_.method == 0 ? content : deflated(content);
    const std::uint64_t at = out_.size();
    out_ += "PK\3\4";
    put_common(out_, crc, options_.local_sizes ? packed.size() : 0,
               options_.local_sizes ? content.size() : 0, name, 4);
    out_ += name + std::string("\0\0\0\0", 4);  // an extra field that is not in the directory
    out_ += packed;

    std::string extra;
    if (options_.zip64) {
      put_bytes<std::uint16_t>(extra, 1);
      put_bytes<std::uint16_t>(extra, 24);
      put_bytes<std::uint64_t>(extra, content.size());
      put_bytes<std::uint64_t>(extra, packed.size());
      put_bytes<std::uint64_t>(extra, at);
    }
    const auto narrow = [&](std::uint64_t value) { return options_.zip64 ? 0xFFFFFFFF : value; };
    directory_ += "PK\1\2" + std::string("\55\0", 2);
    put_common(directory_, crc, narrow(packed.size()), narrow(content.size()), name, extra.size());
    directory_ += std::string(10, '\0');  // comment, disk, attributes
    put_bytes<std::uint32_t>(directory_, static_cast<std::uint32_t>(narrow(at)));
    directory_ += name + extra;
    ++members_;
  }

  std::string finish(const std::string& comment = "") const {
    std::string all = out_ + directory_;
    if (options_.zip64) {
      const std::uint64_t record_at = all.size();
      all += "PK\6\6";
      put_bytes<std::uint64_t>(all, 44);
      all += std::string(12, '\0');
      put_bytes<std::uint64_t>(all, members_);
      put_bytes<std::uint64_t>(all, members_);
      put_bytes<std::uint64_t>(all, directory_.size());
      put_bytes<std::uint64_t>(all, out_.size());
      all += "PK\6\7" + std::string(4, '\0');
      put_bytes<std::uint64_t>(all, record_at);
      put_bytes<std::uint32_t>(all, 1);
    }
    all += "PK\5\6" + std::string(4, '\0');
    const auto count = static_cast<std::uint16_t>(options_.zip64 ? 0xFFFF : members_);
    put_bytes(all, count);
    put_bytes(all, count);
    put_bytes(all, options_.zip64 ? 0xFFFFFFFF : static_cast<std::uint32_t>(directory_.size()));
    put_bytes(all, options_.zip64 ? 0xFFFFFFFF : static_cast<std::uint32_t>(out_.size()));
    put_bytes(all, static_cast<std::uint16_t>(comment.size()));
    return all + comment;
  }

 private:
  /// Fields common to the local header and the directory, from the version to the length of the
  /// extra field.
  void put_common(std::string& out, std::uint32_t crc, std::uint64_t packed, std::uint64_t bytes,
                  const std::string& name, std::size_t extra) const {
    put_bytes<std::uint16_t>(out, 45);
    put_bytes<std::uint16_t>(out, options_.local_sizes ? 0 : 8);
    put_bytes(out, static_cast<std::uint16_t>(options_.method));
    put_bytes<std::uint32_t>(out, 0);
    put_bytes(out, crc);
    put_bytes(out, static_cast<std::uint32_t>(packed));
    put_bytes(out, static_cast<std::uint32_t>(bytes));
    put_bytes(out, static_cast<std::uint16_t>(name.size()));
    put_bytes(out, static_cast<std::uint16_t>(extra));
  }

  static std::string deflated(const std::string& content) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, content.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(packed.size() - stream.avail_out);
    deflateEnd(&stream);
    return packed;
  }

  ZipOptions options_;
  std::string out_;
  std::string directory_;
  std::uint64_t members_ = 0;
};

/// An .npy file; `shape` is the content of a Python tuple, such as "3," or "2, 5".
inline std::string npy(const std::string& descr, const std::string& shape,
                       const std::string& elements, int version = 1) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t start = version == 1 ? 10 : 12;
  header += std::string(63 - (start + header.size()) % 64, ' ') + "\n";
  std::string out = "\x93NUMPY";
  put_bytes(out, static_cast<std::uint8_t>(version));
  put_bytes(out, std::uint8_t{0});
  if (version == 1) {
    put_bytes(out, static_cast<std::uint16_t>(header.size()));
  } else {
    put_bytes(out, static_cast<std::uint32_t>(header.size()));
  }
  return out + header + elements;
}

/// The bytes of one number as an element of a type like "<f4" or ">i8".
inline std::string element(const std::string& descr, double value) {
  std::string out;
  const auto put = [&](auto number) { put_bytes(out, number); };
  const std::string type = descr.substr(1);
  if (type == "f2") put(round_to_half(static_cast<float>(value)));
  if (type == "f4") put(static_cast<float>(value));
  if (type == "f8") put(value);
  if (type == "b1" || type == "u1") put(static_cast<std::uint8_t>(value));
  if (type == "i1") put(static_cast<std::int8_t>(value));
  if (type == "i2") put(static_cast<std::int16_t>(value));
  if (type == "u2") put(static_cast<std::uint16_t>(value));
  if (type == "i4") put(static_cast<std::int32_t>(value));
  if (type == "u4") put(static_cast<std::uint32_t>(value));
  if (type == "i8") put(static_cast<std::int64_t>(value));
  if (type == "u8") put(static_cast<std::uint64_t>(value));
  if (descr[0] == '>') std::reverse(out.begin(), out.end());
  return out;
}

template <class T>
std::string npy_of(const std::string& descr, const std::vector<T>& values, int version = 1) {
  std::string elements;
  for (const T value : values)
    elements += element(descr, static_cast<double>(value));
  return npy(descr, std::to_string(values.size()) + ",", elements, version);
}

struct NpzOptions {
  std::string values = "<f4";
  std::string indices = "<i4";
  std::string offsets = "<i4";
  int version = 1;
  ZipOptions zip = {};
};

inline std::string shape_npy(const CsrMatrix& matrix) {
  return npy_of("<i8", std::vector<std::int64_t>{matrix.rows(), matrix.columns});
}

/// A csr archive as scipy.sparse.save_npz writes it.
inline std::string npz_of(const CsrMatrix& matrix, const NpzOptions& options = {}) {
  ZipWriter zip(options.zip);
  zip.add("indices.npy", npy_of(options.indices, matrix.col_indices, options.version));
  zip.add("indptr.npy", npy_of(options.offsets, matrix.row_offsets, options.version));
  zip.add("format.npy", npy("|S3", "", "csr"));
  zip.add("shape.npy", shape_npy(matrix));
  zip.add("data.npy", npy_of(options.values, matrix.values, options.version));
  return zip.finish();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace bulksim::test
