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

namespace bulksim {

/// The seam for every system call on files. Each function is the call of that name: the same
/// arguments, -1 and `errno` on failure. Tests put a faulty file system behind it.
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
  virtual int link(const char* from, const char* to) = 0;
  virtual int rename(const char* from, const char* to) = 0;
  virtual int symlink(const char* target, const char* path) = 0;
  virtual ssize_t readlink(const char* path, char* to, std::size_t bytes) = 0;
  virtual int chmod(const char* path, mode_t mode) = 0;
  /// Names in a directory, sorted, without "." and ".."; `errno` and an empty list on failure.
  virtual std::vector<std::string> list(const char* path) = 0;
  /// Bytes that an unprivileged writer may still put on the file system of `path`; -1 on failure.
  virtual std::int64_t free_bytes(const char* path) = 0;
};

/// The system itself.
FileCalls& system_file_calls();

/// An open file. Whole transfers: short reads and writes and EINTR are carried on here, and every
/// failure is an Error that names the path.
class File {
 public:
  File() = default;
  /// `flags` and `mode` as for open(2); O_CLOEXEC is added.
  static File open(FileCalls& calls, const std::string& path, int flags, mode_t mode = 0);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }
  const std::string& path() const { return path_; }
  std::int64_t size() const;
  /// Reads exactly `to.size()` bytes at `at`; fewer is an Error (65, "is cut short").
  void read(std::span<std::byte> to, std::int64_t at) const;
  void write(std::span<const std::byte> from, std::int64_t at) const;
  void sync() const;       ///< fsync
  void sync_data() const;  ///< fdatasync
  /// Reserves blocks; false where the file system cannot (EOPNOTSUPP).
  bool reserve(std::int64_t at, std::int64_t bytes) const;
  /// Closes and reports what close reports; the destructor stays silent.
  void close();

 private:
  File(FileCalls& calls, std::string path, int fd)
      : calls_(&calls), path_(std::move(path)), fd_(fd) {}

  FileCalls* calls_ = nullptr;
  std::string path_;
  int fd_ = -1;
};

/// What lstat(2) tells of a path; nothing when nothing has this name.
std::optional<struct stat> find_status(FileCalls& calls, const std::string& path);
/// Whether something has this name, be it a dangling symbolic link.
bool exists(FileCalls& calls, const std::string& path);
/// A symbolic link to a folder does not count.
bool is_directory(FileCalls& calls, const std::string& path);
/// The folder that holds `path`; "." for a bare name.
std::string parent_of(const std::string& path);
/// The path of `name` in `folder`.
std::string inside(const std::string& folder, const std::string& name);
/// The absolute path of what exists, without symbolic links.
std::string real_path(FileCalls& calls, const std::string& path);
/// Names in a folder, sorted.
std::vector<std::string> list_directory(FileCalls& calls, const std::string& path);
/// Makes `path` and its missing parents; nothing happens to what exists. Throws Error (73) where
/// something else than a folder is in the way.
void make_directories(FileCalls& calls, const std::string& path, mode_t mode = 0777);
void sync_directory(FileCalls& calls, const std::string& path);
/// The whole file as a string.
std::string read_text(FileCalls& calls, const std::string& path);
/// Writes a temporary neighbour, syncs it and renames it over `path`: old or new, never half.
void replace_file(FileCalls& calls, const std::string& path, std::string_view content);
/// As `replace_file`, but throws Error (73) when `path` exists.
void create_file(FileCalls& calls, const std::string& path, std::string_view content);
/// Gives the file `from` the name `to` and takes away the old one. Throws Error (73) when `to`
/// exists.
void move_to_new_name(FileCalls& calls, const std::string& from, const std::string& to);
/// rename(2), then syncs the folders of both names.
void rename_durably(FileCalls& calls, const std::string& from, const std::string& to);
/// Removes a file that may be missing.
void remove_file(FileCalls& calls, const std::string& path);
/// Removes a tree that may be missing: never follows a symbolic link, even one put there meanwhile,
/// and never leaves its file system.
void remove_tree(FileCalls& calls, const std::string& path);

/// Permissions that new files do without. Reads them by setting them, so no other thread may make
/// files meanwhile.
mode_t process_umask();

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace bulksim
