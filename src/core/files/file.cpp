#include "bulksim/core/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include <unistd.h>

#include "bulksim/core/error.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

namespace {

/// Repeats a call until no signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR)
    result = call();
  return result;
}

/// What a path is that is not a regular file.
const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

Error not_a_file(const std::string& path, mode_t mode) {
  return Error(ExitCode::kNoInput, "'" + path + "' is " + kind_of(mode) +
                                       ", not a file: inputs are read more than once, from files");
}

void remove_entry(FileCalls& calls, const std::string& path, const std::string& shown,
                  dev_t device);

void empty_directory(FileCalls& calls, const std::string& path, const std::string& shown,
                     dev_t device) {
  const File folder = File::open(calls, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const std::string handle = folder.handle();
  for (const std::string& name : list_directory(calls, handle)) {
    remove_entry(calls, inside(handle, name), inside(shown, name), device);
  }
}

void remove_entry(FileCalls& calls, const std::string& path, const std::string& shown,
                  dev_t device) {
  struct stat status {};
  if (calls.lstat(path.c_str(), &status) == -1) throw system_error("inspect", shown, errno);
  if (status.st_dev != device) throw system_error("remove", shown, EXDEV);
  if (S_ISDIR(status.st_mode)) {
    empty_directory(calls, path, shown, device);
    if (calls.rmdir(path.c_str()) == -1) throw system_error("remove", shown, errno);
  } else if (calls.unlink(path.c_str()) == -1) {
    throw system_error("remove", shown, errno);
  }
}

}  // namespace

File File::open(FileCalls& calls, const std::string& path, int flags, mode_t mode) {
  if ((flags & O_ACCMODE) == O_RDONLY) flags |= O_NONBLOCK;  // a pipe would wait for a writer
  const int fd = uninterrupted([&] { return calls.open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (fd == -1) throw system_error((flags & O_CREAT) != 0 ? "create" : "open", path, errno);
  return File(calls, path, fd);
}

File File::create_unnamed(FileCalls& calls, const std::string& path) {
  const std::string folder = parent_of(path);
  const int fd = uninterrupted(
      [&] { return calls.open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666); });
  if (fd != -1) return File(calls, path, fd);
  // the last two: a kernel that does not know O_TMPFILE
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return {};
  throw system_error("create", path, errno);
}

File File::open_input(FileCalls& calls, const std::string& path) {
  const int fd =
      uninterrupted([&] { return calls.open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0); });
  if (fd == -1 && errno == ENXIO) throw not_a_file(path, S_IFSOCK);
  if (fd == -1) throw system_error("open", path, errno);
  File file(calls, path, fd);
  if (const mode_t mode = file.status().st_mode; !S_ISREG(mode)) throw not_a_file(path, mode);
  return file;
}

File::~File() {
  if (is_open()) calls_->close(fd_);
}

File::File(File&& other) noexcept
    : calls_(other.calls_), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

struct stat File::status() const {
  struct stat status {};
  if (calls_->fstat(fd_, &status) == -1) throw system_error("inspect", path_, errno);
  return status;
}

void File::read(std::span<std::byte> to, std::int64_t at) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const auto position = at + static_cast<std::int64_t>(done);
    const ssize_t count = uninterrupted(
        [&] { return calls_->pread(fd_, to.data() + done, to.size() - done, position); });
    if (count == -1) throw system_error("read", path_, errno);
    if (count == 0) {
      throw Error(ExitCode::kDataError,
                  "'" + path_ + "' is truncated: it ends at byte " + std::to_string(position) +
                      ", but " + std::to_string(at + std::ssize(to)) + " bytes are needed");
    }
    done += count;
  }
}

void File::write(std::span<const std::byte> from, std::int64_t at) const {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t count = uninterrupted([&] {
      return calls_->pwrite(fd_, from.data() + done, from.size() - done,
                            at + static_cast<std::int64_t>(done));
    });
    if (count == -1) throw system_error("write", path_, errno);
    if (count == 0) throw system_error("write", path_, EIO);
    done += count;
  }
}

void File::sync() const {
  if (uninterrupted([&] { return calls_->fsync(fd_); }) == -1) {
    throw system_error("sync", path_, errno);
  }
}

void File::sync_data() const {
  if (uninterrupted([&] { return calls_->fdatasync(fd_); }) == -1) {
    throw system_error("sync", path_, errno);
  }
}

bool File::reserve(std::int64_t at, std::int64_t bytes) const {
  if (uninterrupted([&] { return calls_->fallocate(fd_, at, bytes); }) == 0) return true;
  if (errno == EOPNOTSUPP) return false;
  throw system_error("reserve " + std::to_string(bytes) + " bytes for", path_, errno);
}

void File::close() {
  const int fd = std::exchange(fd_, -1);
  // The descriptor is closed even after EINTR; closing again could close another thread's file.
  if (fd >= 0 && calls_->close(fd) == -1 && errno != EINTR) {
    throw system_error("close", path_, errno);
  }
}

std::optional<struct stat> find_status(FileCalls& calls, const std::string& path) {
  struct stat status {};
  if (calls.lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw system_error("inspect", path, errno);
}

bool exists(FileCalls& calls, const std::string& path) {
  return find_status(calls, path).has_value();
}

bool is_directory(FileCalls& calls, const std::string& path) {
  const auto status = find_status(calls, path);
  return status && S_ISDIR(status->st_mode);
}

bool leads_to_directory(FileCalls& calls, const std::string& path) {
  const int fd =
      uninterrupted([&] { return calls.open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0); });
  if (fd >= 0) calls.close(fd);
  return fd >= 0;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string inside(const std::string& folder, const std::string& name) {
  return folder + "/" + name;
}

std::string real_path(FileCalls& calls, const std::string& path) {
  const File file = File::open(calls, path, O_PATH);
  std::array<char, PATH_MAX> target{};
  const ssize_t length = calls.readlink(file.handle().c_str(), target.data(), target.size());
  if (length == -1) throw system_error("resolve", path, errno);
  return std::string(target.data(), length);
}

std::vector<std::string> list_directory(FileCalls& calls, const std::string& path) {
  errno = 0;
  std::vector<std::string> names = calls.list(path.c_str());
  if (names.empty() && errno != 0) throw system_error("list", path, errno);
  return names;
}

void make_directories(FileCalls& calls, const std::string& path, mode_t mode) {
  int result = calls.mkdir(path.c_str(), mode);
  if (result == -1 && errno == ENOENT && parent_of(path) != path) {
    make_directories(calls, parent_of(path), mode);
    result = calls.mkdir(path.c_str(), mode);
  }
  if (result == 0 || (errno == EEXIST && is_directory(calls, path))) return;
  if (errno == EEXIST || errno == ENOTDIR) throw in_the_way(path, "is not a folder");
  throw system_error("create the folder", path, errno);
}

void sync_directory(FileCalls& calls, const std::string& path) {
  File::open(calls, path, O_RDONLY | O_DIRECTORY).sync();
}

std::string read_text(FileCalls& calls, const std::string& path) {
  const File file = File::open(calls, path, O_RDONLY);
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t count = uninterrupted(
        [&] { return calls.pread(file.descriptor(), block.data(), block.size(), text.size()); });
    if (count == -1) throw system_error("read", path, errno);
    if (count == 0) return text;
    text.append(block.data(), count);
  }
}

void rename_durably(FileCalls& calls, const std::string& from, const std::string& to) {
  if (calls.rename(from.c_str(), to.c_str()) == -1) throw system_error("create", to, errno);
  const std::string parent = parent_of(to);
  sync_directory(calls, parent);
  if (parent_of(from) != parent) sync_directory(calls, parent_of(from));
}

void remove_file(FileCalls& calls, const std::string& path) {
  if (calls.unlink(path.c_str()) == -1 && errno != ENOENT) {
    throw system_error("remove", path, errno);
  }
}

Digest digest_of(const File& file, std::int64_t begin, std::int64_t end) {
  Hasher hasher;
  std::vector<std::byte> block(std::min(end - begin, std::int64_t{1} << 20));
  for (std::int64_t at = begin; at < end;) {
    kOnlySignals.check();
    const auto some = std::span(block).first(std::min(end - at, std::ssize(block)));
    file.read(some, at);
    hasher.update(some);
    at += std::ssize(some);
  }
  return hasher.digest();
}

void remove_tree(FileCalls& calls, const std::string& path) {
  if (const auto status = find_status(calls, path)) remove_entry(calls, path, path, status->st_dev);
}

}  // namespace bulksim
