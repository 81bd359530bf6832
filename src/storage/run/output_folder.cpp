#include "storage/run/output_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/files/staged_file.hpp"
#include "storage/run/lease_file.hpp"

namespace bulksim {

namespace {

constexpr const char* kMarker = "{\"format\":1}\n";

bool is_marked(FileCalls& calls, const std::string& path) {
  const std::string marker = path + "/" + kMarkerName;
  if (!exists(calls, marker)) return false;
  if (read_text(calls, marker) == kMarker) return true;
  throw not_ours(path, "was created by another version of bulksim");
}

/// Creates the folder's marker. Several processes may do so at the same time, and all succeed.
void mark_folder(FileCalls& calls, const std::string& path) {
  const std::string marker = path + "/" + kMarkerName;
  const std::string own = marker + "." + new_token();
  try {
    replace_file(calls, own, kMarker);
    if (calls.rename(own.c_str(), marker.c_str()) == -1) {
      throw system_error("create", marker, errno);
    }
  } catch (const Error&) {
    // the run that has the lease may have removed our temporary file
    if (!is_marked(calls, path)) throw;
  }
  sync_directory(calls, path);
}

}  // namespace

Error not_ours(const std::string& path, const std::string& reason) {
  return Error(ExitCode::kCannotCreate,
               "'" + path + "' " + reason + ": choose another output, or move it away");
}

bool make_folder(FileCalls& calls, const std::string& path, mode_t mode) {
  if (calls.mkdir(path.c_str(), mode) == 0) return true;
  const int reason = errno;
  if (reason == ENOENT) {
    throw Error(ExitCode::kCannotCreate, "the folder '" + parent_of(path) +
                                             "' for the output does not exist: create it first");
  }
  if (reason == ENOTDIR) throw not_ours(parent_of(path), "is not a folder");
  if (reason != EEXIST) throw system_error("create the folder", path, reason);
  if (!is_directory(calls, path)) throw not_ours(path, "exists and is not a folder");
  return false;
}

void make_inner_folder(FileCalls& calls, const std::string& root, const std::string& path,
                       mode_t mode) {
  make_folder(calls, path, mode);
  const File folder = File::open(calls, root, O_PATH | O_DIRECTORY);
  struct stat outer {};
  struct stat inner {};
  if (calls.fstat(folder.descriptor(), &outer) == -1) throw system_error("inspect", root, errno);
  if (calls.lstat(path.c_str(), &inner) == -1) throw system_error("inspect", path, errno);
  if (outer.st_dev != inner.st_dev) throw not_ours(path, "is on another file system");
}

Claim claim_folder(FileCalls& calls, const std::string& path, mode_t mode) {
  const bool is_new = make_folder(calls, path, mode);
  if (is_marked(calls, path)) return Claim::kOurs;
  const std::vector<std::string> names = list_directory(calls, path);
  const auto foreign = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return !name.starts_with(kMarkerName) && !is_staged_name(name);
  });
  if (foreign == names.end()) {
    mark_folder(calls, path);
  } else if (!is_marked(calls,
                        path)) {  // checked again: another process may have marked it meanwhile
    throw not_ours(path, "is not an output of bulksim: it contains '" + *foreign + "'");
  }
  return is_new ? Claim::kNew : Claim::kEmpty;
}

void remove_marker_leftovers(FileCalls& calls, const std::string& path) {
  for (const std::string& name : list_directory(calls, path)) {
    if (name.starts_with(std::string(kMarkerName) + ".")) remove_file(calls, inside(path, name));
  }
}

}  // namespace bulksim
