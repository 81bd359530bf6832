#include "formats/npz/npz_writer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/crc.hpp"
#include "core/files/file_appender.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostNarrow = std::numeric_limits<std::int32_t>::max();
constexpr std::uint16_t kVersion = 45;           // the first with 64-bit sizes
constexpr std::uint16_t kFirstDay = 0x21;        // 1980-01-01: results contain no times
constexpr std::uint32_t kIn64Bits = 0xFFFFFFFF;  // the size is in the extra field
constexpr std::int64_t kLocalHeaderBytes = 50;   // without the name
constexpr std::size_t kDigestDigits = 32;

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& to, T value) {
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

void put(Bytes& to, const std::string& text) {
  const std::size_t at = to.size();
  to.resize(at + text.size());
  std::memcpy(to.data() + at, text.data(), text.size());
}

/// One file of the archive, written piece by piece; its checksum is filled in at the end.
struct Member {
  std::string name;
  std::int64_t header_at;
  std::int64_t bytes;
  FileAppender content;
  std::uint32_t crc = 0;

  void append(std::span<const std::byte> piece) {
    crc = crc32(piece, crc);
    content.append(piece);
  }
};

/// The common part of the local and the central header.
void put_common(Bytes& to, const Member& member) {
  put(to, kVersion);
  put(to, std::uint16_t{0});  // flags
  put(to, std::uint16_t{0});  // stored
  put(to, std::uint16_t{0});
  put(to, kFirstDay);
  put(to, member.crc);
  put(to, kIn64Bits);
  put(to, kIn64Bits);
  put(to, static_cast<std::uint16_t>(member.name.size()));
}

Bytes local_header(const Member& member) {
  Bytes header;
  put(header, std::uint32_t{0x04034b50});
  put_common(header, member);
  put(header, std::uint16_t{20});
  put(header, member.name);
  put(header, std::uint16_t{1});
  put(header, std::uint16_t{16});
  put(header, member.bytes);
  put(header, member.bytes);
  return header;
}

Bytes central_header(const Member& member) {
  Bytes header;
  put(header, std::uint32_t{0x02014b50});
  put(header, kVersion);
  put_common(header, member);
  put(header, std::uint16_t{28});
  put(header, std::uint16_t{0});  // comment
  put(header, std::uint16_t{0});  // disk
  put(header, std::uint16_t{0});
  put(header, std::uint32_t{0});
  put(header, kIn64Bits);
  put(header, member.name);
  put(header, std::uint16_t{1});
  put(header, std::uint16_t{24});
  put(header, member.bytes);
  put(header, member.bytes);
  put(header, member.header_at);
  return header;
}

Bytes end_of_directory(std::int64_t at, std::int64_t bytes, std::size_t members,
                       const std::string& comment) {
  Bytes end;
  put(end, std::uint32_t{0x06064b50});
  put(end, std::uint64_t{44});
  put(end, kVersion);
  put(end, kVersion);
  put(end, std::uint32_t{0});
  put(end, std::uint32_t{0});
  put(end, static_cast<std::uint64_t>(members));
  put(end, static_cast<std::uint64_t>(members));
  put(end, bytes);
  put(end, at);
  put(end, std::uint32_t{0x07064b50});
  put(end, std::uint32_t{0});
  put(end, at + bytes);
  put(end, std::uint32_t{1});
  put(end, std::uint32_t{0x06054b50});
  put(end, std::uint16_t{0});
  put(end, std::uint16_t{0});
  put(end, static_cast<std::uint16_t>(members));
  put(end, static_cast<std::uint16_t>(members));
  put(end, kIn64Bits);
  put(end, kIn64Bits);
  put(end, static_cast<std::uint16_t>(comment.size() + kDigestDigits));
  put(end, comment);  // the digest follows
  return end;
}

}  // namespace

std::string npy_head(const std::string& type, const std::string& shape) {
  std::string text =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\0", 8);
  head += static_cast<char>(text.size() % 256);
  head += static_cast<char>(text.size() / 256);
  return head + text;
}

struct NpzWriter::Impl {
  const File& file;
  std::string comment;
  bool wide;
  std::vector<Member> members = {};  ///< in the order of the file
  std::int64_t end = 0;

  /// Reserves the space of an array and writes its header.
  Member& add(const std::string& name, const std::string& type, const std::string& shape,
              std::int64_t content_bytes) {
    const std::string array = name + ".npy";
    const std::string head = npy_head(type, shape);
    const auto bytes = std::ssize(head) + content_bytes;
    const std::int64_t content_at = end + kLocalHeaderBytes + std::ssize(array);
    members.push_back({array, end, bytes, FileAppender(file, content_at)});
    members.back().append(std::as_bytes(std::span(head)));
    end = content_at + bytes;
    return members.back();
  }
  /// A number of indices or indptr: scipy needs both of the same type.
  void append_index(Member& to, std::int64_t number) const {
    const auto narrow = static_cast<std::int32_t>(number);
    to.append(wide ? std::as_bytes(std::span(&number, 1)) : std::as_bytes(std::span(&narrow, 1)));
  }
};

NpzWriter::NpzWriter(const File& file, std::int64_t columns,
                     const std::vector<std::int64_t>& row_offsets, const std::string& comment)
    : impl_(new Impl{file, comment, std::max(columns, row_offsets.back()) > kMostNarrow}) {
  Impl& npz = *impl_;
  const std::int64_t values = row_offsets.back();
  const std::string count = std::to_string(values) + ",";
  const std::string type = npz.wide ? "<i8" : "<i4";
  const std::int64_t width = npz.wide ? 8 : 4;
  npz.members.reserve(5);
  npz.add("indices", type, count, width * values);
  npz.add("data", "<f4", count, 4 * values);
  Member& offsets = npz.add("indptr", type, std::to_string(row_offsets.size()) + ",",
                            width * std::ssize(row_offsets));
  for (const std::int64_t offset : row_offsets)
    npz.append_index(offsets, offset);
  npz.add("format", "|S3", "", 3).append(std::as_bytes(std::span("csr", 3)));
  const std::int64_t shape[2] = {std::ssize(row_offsets) - 1, columns};
  npz.add("shape", "<i8", "2,", 16).append(std::as_bytes(std::span(shape)));
}

NpzWriter::~NpzWriter() = default;

void NpzWriter::append_row(std::span<const std::int64_t> columns, std::span<const float> values) {
  for (const std::int64_t column : columns)
    impl_->append_index(impl_->members[0], column);
  impl_->members[1].append(std::as_bytes(values));
}

void NpzWriter::finish() {
  Bytes directory;
  for (Member& member : impl_->members) {
    member.content.flush();
    impl_->file.write(local_header(member), member.header_at);
    const Bytes entry = central_header(member);
    directory.insert(directory.end(), entry.begin(), entry.end());
  }
  const Bytes end =
      end_of_directory(impl_->end, std::ssize(directory), impl_->members.size(), impl_->comment);
  directory.insert(directory.end(), end.begin(), end.end());
  impl_->file.write(directory, impl_->end);
  const std::int64_t digest_at = impl_->end + std::ssize(directory);
  const std::string digest = digest_of(impl_->file, 0, digest_at).hex();
  impl_->file.write(std::as_bytes(std::span(digest)), digest_at);
}

}  // namespace bulksim
