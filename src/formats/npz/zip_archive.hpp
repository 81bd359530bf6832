#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "formats/shared/byte_stream.hpp"

namespace bulksim {

/// One file in a zip archive, as the central directory describes it.
struct ZipMember {
  std::string name;
  std::string shown;  ///< "'x.npz', member 'data.npy'": the start of errors
  int method = 0;     ///< 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t bytes = 0;
  std::int64_t header_at = 0;  ///< of its local header
};

/// Content of a member in order; the checksum is compared when the last byte has been read.
class ZipMemberReader {
 public:
  ZipMemberReader(const File& file, const ZipMember& member, std::int64_t data_at);

  /// Throws Error (65) when fewer bytes are left, or the content does not have its checksum.
  void read(std::span<std::byte> to);
  void skip(std::int64_t bytes);
  void skip_rest() { skip(left()); }
  std::int64_t left() const { return member_->bytes - read_; }
  const std::string& shown() const { return member_->shown; }

 private:
  const ZipMember* member_;
  std::unique_ptr<ByteStream> content_;
  std::int64_t read_ = 0;
  std::uint32_t crc_ = 0;
};

/// A zip or zip64 archive. All positions come from the central directory and are compared with the
/// size of the file before use; members of the same name and members that overlap are refused.
class ZipArchive {
 public:
  ZipArchive(FileCalls& calls, const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::int64_t file_bytes() const { return size_; }
  /// Null when there is none.
  const ZipMember* find(const std::string& name) const;
  ZipMemberReader open(const ZipMember& member) const;

 private:
  struct Directory;

  Directory find_directory() const;
  void read_members(const Directory& directory);
  void check_members() const;
  std::int64_t data_at(const ZipMember& member) const;
  [[noreturn]] void fail(const std::string& what) const;

  File file_;
  std::int64_t size_ = 0;
  std::int64_t directory_at_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace bulksim
