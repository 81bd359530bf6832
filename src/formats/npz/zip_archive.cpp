#include "formats/npz/zip_archive.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/crc.hpp"
#include "formats/shared/input_files.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kEndBytes = 22;      // end record without its comment
constexpr std::int64_t kLocatorBytes = 20;  // of the zip64 end record
constexpr std::int64_t kEnd64Bytes = 56;    // zip64 end record
constexpr std::int64_t kEntryBytes = 46;    // entry of the central directory
constexpr std::int64_t kLocalBytes = 30;    // local header
constexpr std::int64_t kMostComment = 65535;
constexpr std::int64_t kMostMembers = 1000;  // a matrix has five
constexpr std::int64_t kMostDirectory = 1 << 20;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // the zip64 field has the number
constexpr std::uint16_t kEncrypted = 1;
constexpr std::int64_t kMostInflation = 1032;  // of deflate

using Bytes = std::span<const std::byte>;

/// A little-endian number; the caller has checked that it is inside.
template <class T>
T number(Bytes bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
  return value;
}

bool begins_with(Bytes bytes, std::size_t at, const char* signature) {
  return std::memcmp(bytes.subspan(at, 4).data(), signature, 4) == 0;
}

std::string text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Replaces the numbers that did not fit by those of the zip64 field; false when they are missing.
bool take_zip64(Bytes extra, std::array<std::int64_t*, 3> numbers) {
  const auto missing = [](const std::int64_t* n) { return *n == std::int64_t{kIn64}; };
  if (std::none_of(numbers.begin(), numbers.end(), missing)) return true;
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t length = number<std::uint16_t>(extra, at + 2);
    if (at + 4 + length > extra.size()) return false;
    Bytes field = extra.subspan(at + 4, length);
    if (number<std::uint16_t>(extra, at) == 1) {
      for (std::int64_t* n : numbers) {
        if (!missing(n)) continue;
        if (field.size() < 8) return false;
        *n = number<std::int64_t>(field, 0);
        field = field.subspan(8);
      }
      return true;
    }
    at += 4 + length;
  }
  return false;
}

}  // namespace

struct ZipArchive::Directory {
  std::int64_t at = 0;
  std::int64_t bytes = 0;
  std::int64_t members = 0;
};

ZipMemberReader::ZipMemberReader(const File& file, const ZipMember& member, std::int64_t data_at)
    : member_(&member) {
  const FilePiece piece{&file, data_at, member.packed_bytes};
  content_ =
      member.method == 0 ? stored_bytes(piece) : inflated_bytes(piece, Deflate::kRaw, member.shown);
}

void ZipMemberReader::read(std::span<std::byte> to) {
  if (std::ssize(to) > left() || content_->read(to) != to.size()) {
    throw Error(ExitCode::kDataError, member_->shown + " is truncated");
  }
  crc_ = crc32(to, crc_);
  read_ += to.size();
  if (!to.empty() && left() == 0 && crc_ != member_->crc) {
    throw Error(ExitCode::kDataError, member_->shown + " is damaged: its checksum does not match");
  }
}

void ZipMemberReader::skip(std::int64_t bytes) {
  std::vector<std::byte> block(std::min<std::int64_t>(bytes, 1 << 18));
  while (bytes > 0) {
    const auto count = std::min(bytes, std::ssize(block));
    read(std::span(block).first(count));
    bytes -= count;
  }
}

ZipArchive::ZipArchive(FileCalls& calls, const std::string& path)
    : file_(File::open_input(calls, path)), size_(file_.size()) {
  read_members(find_directory());
  check_members();
}

const ZipMember* ZipArchive::find(const std::string& name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const ZipMember& member) { return member.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

ZipMemberReader ZipArchive::open(const ZipMember& member) const {
  return {file_, member, data_at(member)};
}

/// The end record is found by its signature, backwards from the end: a comment may follow it.
ZipArchive::Directory ZipArchive::find_directory() const {
  const std::int64_t tail = std::min(size_, kEndBytes + kMostComment + kLocatorBytes);
  std::vector<std::byte> bytes(tail);
  file_.read(bytes, size_ - tail);
  std::int64_t at = tail - kEndBytes;
  while (at >= 0 && !begins_with(bytes, at, "PK\5\6"))
    --at;
  if (at < 0) {
    refuse_compressed(file_, path());
    fail("is not a zip archive, or it is truncated (it has no end record)");
  }
  const std::size_t end = at;
  Directory directory{number<std::uint32_t>(bytes, end + 16),
                      number<std::uint32_t>(bytes, end + 12),
                      number<std::uint16_t>(bytes, end + 10)};
  if (at >= kLocatorBytes && begins_with(bytes, end - kLocatorBytes, "PK\6\7")) {
    const auto record_at = number<std::int64_t>(bytes, end - kLocatorBytes + 8);
    std::array<std::byte, kEnd64Bytes> record{};
    if (record_at < 0 || record_at > size_ - kEnd64Bytes) fail("is damaged (zip64 end record)");
    file_.read(record, record_at);
    if (!begins_with(record, 0, "PK\6\6")) fail("is damaged (zip64 end record)");
    directory = {number<std::int64_t>(record, 48), number<std::int64_t>(record, 40),
                 number<std::int64_t>(record, 32)};
  }
  if (directory.at < 0 || directory.bytes < 0 || directory.at > size_ ||
      directory.bytes > size_ - directory.at) {
    fail("is damaged (its directory is outside the file)");
  }
  if (directory.members > kMostMembers || directory.bytes > kMostDirectory) {
    fail("is not a matrix: it has " + std::to_string(directory.members) + " members");
  }
  return directory;
}

void ZipArchive::read_members(const Directory& directory) {
  directory_at_ = directory.at;
  std::vector<std::byte> all(directory.bytes);
  file_.read(all, directory.at);
  Bytes rest = all;
  for (std::int64_t i = 0; i < directory.members; ++i) {
    if (rest.size() < kEntryBytes || !begins_with(rest, 0, "PK\1\2"))
      fail("is damaged (directory)");
    const std::size_t name_bytes = number<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = number<std::uint16_t>(rest, 30);
    const std::size_t total =
        kEntryBytes + name_bytes + extra_bytes + number<std::uint16_t>(rest, 32);
    if (rest.size() < total) fail("is damaged (directory)");
    ZipMember member;
    member.name = text(rest.subspan(kEntryBytes, name_bytes));
    member.shown = "'" + path() + "', member '" + member.name + "'";
    member.method = number<std::uint16_t>(rest, 10);
    member.crc = number<std::uint32_t>(rest, 16);
    member.packed_bytes = number<std::uint32_t>(rest, 20);
    member.bytes = number<std::uint32_t>(rest, 24);
    member.header_at = number<std::uint32_t>(rest, 42);
    if (!take_zip64(rest.subspan(kEntryBytes + name_bytes, extra_bytes),
                    {&member.bytes, &member.packed_bytes, &member.header_at})) {
      fail("is damaged (zip64 field of '" + member.name + "')");
    }
    if ((number<std::uint16_t>(rest, 8) & kEncrypted) != 0) fail("is encrypted");
    members_.push_back(std::move(member));
    rest = rest.subspan(total);
  }
}

void ZipArchive::check_members() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (const ZipMember& member : members_) {
    const bool inside = 0 <= member.header_at && member.header_at <= directory_at_ - kLocalBytes &&
                        0 <= member.packed_bytes && 0 <= member.bytes &&
                        member.packed_bytes <= directory_at_ - kLocalBytes - member.header_at;
    if (!inside) throw Error(ExitCode::kDataError, member.shown + " is outside the file");
    if (member.method != 0 && member.method != 8) {
      throw Error(ExitCode::kDataError, member.shown + " is compressed by method " +
                                            std::to_string(member.method) +
                                            "; only stored and deflated members are read");
    }
    if (member.method == 0 && member.packed_bytes != member.bytes) {
      throw Error(ExitCode::kDataError, member.shown + " is stored, but its two sizes differ");
    }
    if (member.method == 8 && member.bytes / kMostInflation > member.packed_bytes) {
      throw Error(ExitCode::kDataError, member.shown + " is damaged: it claims " +
                                            std::to_string(member.bytes) + " bytes, but " +
                                            std::to_string(member.packed_bytes) +
                                            " compressed bytes cannot hold as many");
    }
    if (find(member.name) != &member) {
      throw Error(ExitCode::kDataError, member.shown + " occurs twice");
    }
    places.emplace_back(member.header_at, member.header_at + kLocalBytes + member.packed_bytes);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) fail("is damaged: its members overlap");
  }
}

/// The local header repeats the name, and may have another extra field than the directory.
std::int64_t ZipArchive::data_at(const ZipMember& member) const {
  std::array<std::byte, kLocalBytes> header{};
  file_.read(header, member.header_at);
  const std::int64_t at = member.header_at + kLocalBytes + number<std::uint16_t>(header, 26) +
                          number<std::uint16_t>(header, 28);
  if (!begins_with(header, 0, "PK\3\4") || at > directory_at_ - member.packed_bytes) {
    throw Error(ExitCode::kDataError, member.shown + " is damaged (local header)");
  }
  return at;
}

void ZipArchive::fail(const std::string& what) const {
  throw Error(ExitCode::kDataError, "'" + path() + "' " + what);
}

}  // namespace bulksim
