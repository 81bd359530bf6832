#include "core/files/staged_file.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include <unistd.h>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr const char* kEnding = ".staged";

/// A hidden name in the folder of `path`.
std::string hidden_beside(const std::string& path, const std::string& ending) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  name.insert(name.begin(), '.');
  return inside(parent_of(path), name + ending);
}

/// A name that no process of any host uses.
std::string unique_beside(const std::string& path) {
  static std::atomic<int> files = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  std::string ending;
  for (const auto number : {std::int64_t{::getpid()}, std::int64_t{now}, std::int64_t{++files}})
    ending.append(1, '.').append(std::to_string(number));
  return hidden_beside(path, ending + kEnding);
}

}  // namespace

StagedFile::StagedFile(FileCalls& calls, std::string path)
    : calls_(calls), path_(std::move(path)), file_(File::create_unnamed(calls_, path_)) {
  if (file_.is_open()) return;
  name_ = unique_beside(path_);
  file_ = File::open(calls_, name_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
}

StagedFile::~StagedFile() {
  if (!name_.empty()) calls_.unlink(name_.c_str());
}

void StagedFile::publish() {
  file_.sync();
  if (!name_.empty()) {
    rename_durably(calls_, name_, path_);
    name_.clear();
  } else {
    if (!link_to(path_)) replace();
    sync_directory(calls_, parent_of(path_));
  }
  file_.close();
}

void StagedFile::publish_new() {
  file_.sync();
  if (!link_to(path_)) {
    if (errno == EEXIST) throw in_the_way(path_, "already exists");
    throw system_error("create", path_, errno);
  }
  if (!name_.empty()) remove_file(calls_, std::exchange(name_, ""));
  sync_directory(calls_, parent_of(path_));
  file_.close();
}

/// Over NFS, link(2) may succeed and still report failure; the link count decides.
bool StagedFile::link_to(const std::string& name) {
  const std::string from = name_.empty() ? file_.handle() : name_;
  if (calls_.link(from.c_str(), name.c_str()) == 0) return true;
  const int reason = errno;
  struct stat status {};
  if (calls_.fstat(file_.descriptor(), &status) == -1) throw system_error("inspect", path_, errno);
  errno = reason;
  return status.st_nlink > (name_.empty() ? 0 : 1);
}

/// link(2) does not replace a file, rename(2) does. Another process may use the same hidden name at
/// any time. Its file is complete as well and must not be removed, because a file that has lost its
/// only name cannot get another one: whoever finds the hidden name taken renames that file.
void StagedFile::replace() {
  if (errno != EEXIST) throw system_error("create", path_, errno);
  const std::string hidden = hidden_beside(path_, kEnding);
  const auto rename_hidden = [&] {
    if (calls_.rename(hidden.c_str(), path_.c_str()) == 0 || errno == ENOENT) return;
    const int reason = errno;
    calls_.unlink(hidden.c_str());
    throw system_error("create", path_, reason);
  };
  while (!link_to(hidden)) {
    if (errno != EEXIST) throw system_error("create", path_, errno);
    rename_hidden();
  }
  rename_hidden();
}

bool is_staged_name(const std::string& name) {
  return name.starts_with('.') && name.ends_with(kEnding);
}

void remove_staged_leftovers(FileCalls& calls, const std::string& folder) {
  for (const std::string& name : list_directory(calls, folder)) {
    if (is_staged_name(name)) remove_file(calls, inside(folder, name));
  }
}

void replace_file(FileCalls& calls, const std::string& path, std::string_view content) {
  write_file(calls, path, [&](FileAppender& out) { out.append(content); });
}

void create_file(FileCalls& calls, const std::string& path, std::string_view content) {
  StagedFile staged(calls, path);
  staged.file().write(std::as_bytes(std::span(content)), 0);
  staged.publish_new();
}

}  // namespace bulksim
