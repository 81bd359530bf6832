#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

/// Interface for every system call on files. Each function has the arguments and the result of the
/// call with its name: -1 and `errno` on failure. Tests substitute a faulty file system.
class FileCalls {
 public:
  FileCalls() = default;
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;
  FileCalls(FileCalls&&) = delete;
  FileCalls& operator=(FileCalls&&) = delete;
  virtual ~FileCalls() = default;

  virtual int open(const char* path, int flags, mode_t mode) = 0;
  virtual int close(int fd) = 0;
  virtual ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) = 0;
  virtual ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) = 0;
  virtual int fsync(int fd) = 0;
  virtual int fdatasync(int fd) = 0;
  virtual int fallocate(int fd, off_t at, off_t bytes) = 0;  ///< fallocate(2), mode 0
  virtual int fstat(int fd, struct stat* out) = 0;
  virtual int lstat(const char* path, struct stat* out) = 0;
  virtual int mkdir(const char* path, mode_t mode) = 0;
  virtual int rmdir(const char* path) = 0;
  virtual int unlink(const char* path) = 0;
  /// link(2); `from` may also be the path of an open file in /proc/self/fd.
  virtual int link(const char* from, const char* to) = 0;
  virtual int rename(const char* from, const char* to) = 0;
  virtual int symlink(const char* target, const char* path) = 0;
  virtual ssize_t readlink(const char* path, char* to, std::size_t bytes) = 0;
  virtual int chmod(const char* path, mode_t mode) = 0;
  /// Sorted names of the directory's entries without "." and ".."; an empty list and `errno` on
  /// failure.
  virtual std::vector<std::string> list(const char* path) = 0;
  /// Bytes available to an unprivileged writer on the file system of `path`; -1 on failure.
  virtual std::int64_t free_bytes(const char* path) = 0;
};

/// The system calls themselves.
FileCalls& system_file_calls();

/// An open file. Short reads and writes and EINTR are retried until the transfer is complete; every
/// failure is an Error with the path.
class File {
 public:
  File() = default;
  /// `flags` and `mode` are those of open(2); O_CLOEXEC is added.
  static File open(FileCalls& calls, const std::string& path, int flags, mode_t mode = 0);
  /// Creates a file without a name in the folder of `path`, for reading and writing (O_TMPFILE); a
  /// closed one where the file system does not support that. Errors name `path`.
  static File create_unnamed(FileCalls& calls, const std::string& path);
  /// Opens an input for reading. Throws Error (66) at once for anything but a regular file: opening
  /// a pipe would wait for its writer.
  static File open_input(FileCalls& calls, const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }
  /// A path to the open file, valid even when the file has no name or another one.
  std::string handle() const { return "/proc/self/fd/" + std::to_string(fd_); }
  const std::string& path() const { return path_; }
  std::int64_t size() const { return status().st_size; }
  /// Reads exactly `to.size()` bytes at `at`; fewer is an Error (65, "is truncated").
  void read(std::span<std::byte> to, std::int64_t at) const;
  void write(std::span<const std::byte> from, std::int64_t at) const;
  void sync() const;       ///< fsync
  void sync_data() const;  ///< fdatasync
  /// Reserves space; false where the file system does not support it (EOPNOTSUPP).
  bool reserve(std::int64_t at, std::int64_t bytes) const;
  /// Closes the file and throws on failure; the destructor ignores failures.
  void close();

 private:
  File(FileCalls& calls, std::string path, int fd)
      : calls_(&calls), path_(std::move(path)), fd_(fd) {}

  struct stat status() const;

  FileCalls* calls_ = nullptr;
  std::string path_;
  int fd_ = -1;
};

/// The result of lstat(2); nothing when the path does not exist.
std::optional<struct stat> find_status(FileCalls& calls, const std::string& path);
/// Whether the path exists; a dangling symbolic link does.
bool exists(FileCalls& calls, const std::string& path);
/// False for a symbolic link to a folder.
bool is_directory(FileCalls& calls, const std::string& path);
/// Whether the path is a folder, or a symbolic link to one.
bool leads_to_directory(FileCalls& calls, const std::string& path);
/// The folder that contains `path`; "." for a bare name.
std::string parent_of(const std::string& path);
/// The path of `name` in `folder`.
std::string inside(const std::string& folder, const std::string& name);
/// The absolute path without symbolic links; `path` must exist.
std::string real_path(FileCalls& calls, const std::string& path);
/// Sorted names of a folder's entries.
std::vector<std::string> list_directory(FileCalls& calls, const std::string& path);
/// Creates `path` and its missing parents; existing folders stay as they are. Throws Error (73)
/// where something other than a folder is in the way.
void make_directories(FileCalls& calls, const std::string& path, mode_t mode = 0777);
void sync_directory(FileCalls& calls, const std::string& path);
/// The whole file as a string.
std::string read_text(FileCalls& calls, const std::string& path);
/// Writes a file, syncs it and gives it the name `path`, which has either the old or the new
/// content at any time.
void replace_file(FileCalls& calls, const std::string& path, std::string_view content);
/// Like `replace_file`, but throws Error (73) when `path` exists.
void create_file(FileCalls& calls, const std::string& path, std::string_view content);
/// rename(2), then syncs both parent folders.
void rename_durably(FileCalls& calls, const std::string& from, const std::string& to);
/// Removes a file that may be missing.
void remove_file(FileCalls& calls, const std::string& path);
/// Removes a tree that may be missing. Never follows a symbolic link, even one created during the
/// call, and never leaves the file system.
void remove_tree(FileCalls& calls, const std::string& path);

/// XXH3-128 of the bytes [begin, end) of a file.
Digest digest_of(const File& file, std::int64_t begin, std::int64_t end);

/// The umask. It is read by setting it, so no other thread may create files during the call.
mode_t process_umask();

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace bulksim
