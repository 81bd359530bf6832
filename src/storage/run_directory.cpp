#include "bulksim/storage/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"
#include "bulksim/storage/manifest.hpp"
#include "hdf5/file.hpp"

namespace bulksim {

namespace {

constexpr const char* kMarkerName = ".bulksim";
constexpr const char* kMarker = "{\"format\":1}\n";

std::string without_trailing_slashes(std::string path) {
  if (path.empty()) throw Error(ExitCode::kUsage, "the output has no name: give one with --output");
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

Error not_ours(const std::string& path, const std::string& reason) {
  return Error(ExitCode::kCannotCreate,
               "'" + path + "' " + reason + ": choose another output, or move it away");
}

/// Makes a folder, or finds that a folder (not a link to one) is there.
void make_folder(FileCalls& calls, const std::string& path, mode_t mode) {
  if (calls.mkdir(path.c_str(), mode) == 0) return;
  const int reason = errno;
  if (reason == ENOENT) {
    throw Error(ExitCode::kCannotCreate, "the folder '" + parent_of(path) +
                                             "' for the output does not exist: create it first");
  }
  if (reason == ENOTDIR) throw not_ours(parent_of(path), "is not a folder");
  if (reason != EEXIST) throw system_error("make the folder", path, reason);
  if (!is_directory(calls, path)) throw not_ours(path, "exists and is not a folder");
}

/// A folder inside `root`, on the same file system, so that a rename can cross between them.
void make_inner_folder(FileCalls& calls, const std::string& root, const std::string& path,
                       mode_t mode) {
  make_folder(calls, path, mode);
  struct stat outer {};
  struct stat inner {};
  if (calls.lstat(root.c_str(), &outer) == -1) throw system_error("look at", root, errno);
  if (calls.lstat(path.c_str(), &inner) == -1) throw system_error("look at", path, errno);
  if (outer.st_dev != inner.st_dev) throw not_ours(path, "is on another file system");
}

/// Takes a folder for this program: new, empty, or marked by an earlier run. What a run killed
/// while it marked the folder left there begins with the name of the marker.
void claim_folder(FileCalls& calls, const std::string& path, mode_t mode) {
  make_folder(calls, path, mode);
  const std::string marker = path + "/" + kMarkerName;
  if (exists(calls, marker)) {
    if (read_text(calls, marker) == kMarker) return;
    throw not_ours(path, "was made by another version of bulksim");
  }
  const std::vector<std::string> names = list_directory(calls, path);
  const auto foreign = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return !name.starts_with(kMarkerName);
  });
  if (foreign != names.end()) {
    throw not_ours(path, "is not an output of bulksim, it holds '" + *foreign + "'");
  }
  replace_file(calls, marker, kMarker);
}

/// A file in the place of the output may be replaced when it is an earlier result.
void require_replaceable(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) return;
  struct stat status {};
  if (calls.lstat(path.c_str(), &status) == -1) throw system_error("look at", path, errno);
  if (!S_ISREG(status.st_mode)) throw not_ours(path, "exists and is not a file");
  if (!h5::has_attribute(path, "complete")) throw not_ours(path, "is not a result of bulksim");
}

/// The number of a version "000123-6f1c2a9b"; 0 for any other name.
std::int64_t version_number(const std::string& name) {
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, status] = std::from_chars(name.data(), end, number);
  return status == std::errc{} && stop != end && *stop == '-' ? number : 0;
}

std::string success_json(const std::string& manifest_json) {
  const Manifest manifest = Manifest::from_json(manifest_json);
  std::int64_t bytes = 0;
  for (const ManifestFile& file : manifest.files)
    bytes += file.bytes;
  const Digest digest = digest_of(std::as_bytes(std::span<const char>(manifest_json)));
  return nlohmann::json{
             {"manifest", digest.hex()}, {"files", manifest.files.size()}, {"bytes", bytes}}
             .dump(1) +
         "\n";
}

}  // namespace

OutputForm output_form(const std::string& output) {
  for (const char* suffix : {".h5", ".npz", ".tsv"}) {
    if (output.ends_with(suffix)) return OutputForm::kSingleFile;
  }
  return OutputForm::kVersions;
}

RunDirectory::RunDirectory(FileCalls& calls, std::string output, Digest plan)
    : calls_(calls),
      output_(without_trailing_slashes(std::move(output))),
      form_(output_form(output_)),
      plan_(plan.hex().substr(0, 8)),
      staging_(work_folder() + "/" + plan_),
      umask_(process_umask()) {}

/// Holds the staging folders of all plans.
std::string RunDirectory::work_folder() const {
  if (form_ == OutputForm::kVersions) return output_ + "/staging";
  const std::string name = output_.substr(output_.find_last_of('/') + 1);
  return parent_of(output_) + "/." + name + ".bulksim";
}

std::string RunDirectory::part_name(std::size_t part) const {
  if (form_ == OutputForm::kSingleFile) return "result.h5";
  char name[64];
  std::snprintf(name, sizeof name, "parts/part-%05zu.h5", part);
  return name;
}

void RunDirectory::prepare(const std::string& plan_json) {
  if (form_ == OutputForm::kVersions) {
    claim_folder(calls_, output_, 0777);
    make_inner_folder(calls_, output_, output_ + "/versions", 0777);
    make_inner_folder(calls_, output_, work_folder(), 0700);
  } else {
    require_replaceable(calls_, output_);
    claim_folder(calls_, work_folder(), 0700);
  }
  remove_tree(calls_, staging_);
  make_inner_folder(calls_, work_folder(), staging_, 0700);
  if (form_ == OutputForm::kVersions) make_folder(calls_, staging_ + "/parts", 0700);
  create_file(calls_, staging_ + "/PLAN.json", plan_json);
  sync_directory(calls_, work_folder());
  sync_directory(calls_, parent_of(work_folder()));
}

std::string RunDirectory::publish(const std::string& manifest_json) {
  return form_ == OutputForm::kVersions ? publish_version(manifest_json) : publish_file();
}

std::string RunDirectory::publish_version(const std::string& manifest_json) {
  const std::string success = success_json(manifest_json);
  // Whoever finds _SUCCESS, even after a power failure, finds all the rest.
  seal(staging_);
  replace_file(calls_, staging_ + "/MANIFEST.json", manifest_json);
  replace_file(calls_, staging_ + "/_SUCCESS", success);
  seal(staging_);

  char number[32];
  std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(next_version()));
  const std::string version = "versions/" + std::string(number) + "-" + plan_;
  rename_durably(calls_, staging_, output_ + "/" + version);

  const std::string link = output_ + "/.CURRENT.tmp";
  remove_file(calls_, link);
  if (calls_.symlink(version.c_str(), link.c_str()) == -1) {
    throw system_error("create", link, errno);
  }
  rename_durably(calls_, link, output_ + "/CURRENT");
  return output_ + "/CURRENT/similarity.h5";
}

std::string RunDirectory::publish_file() {
  const std::string staged = part_path(0);
  seal(staged);
  require_replaceable(calls_, output_);
  rename_durably(calls_, staged, output_);
  remove_tree(calls_, staging_);
  // Other plans may have work of theirs in there.
  if (list_directory(calls_, work_folder()) == std::vector<std::string>{kMarkerName}) {
    remove_tree(calls_, work_folder());
  }
  return output_;
}

std::int64_t RunDirectory::next_version() const {
  std::int64_t last = 0;
  for (const std::string& name : list_directory(calls_, output_ + "/versions")) {
    last = std::max(last, version_number(name));
  }
  return last + 1;
}

/// Final modes, and everything synced. A folder keeps its owner's write bit, so that the owner can
/// remove it.
void RunDirectory::seal(const std::string& path) const {
  const File entry = File::open(calls_, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (calls_.fstat(entry.descriptor(), &status) == -1) throw system_error("look at", path, errno);
  if (S_ISDIR(status.st_mode)) {
    for (const std::string& name : list_directory(calls_, path))
      seal(inside(path, name));
  } else if (!S_ISREG(status.st_mode)) {
    throw not_ours(path, "is neither a file nor a folder");
  }
  const mode_t mode = S_ISDIR(status.st_mode) ? (0777 & ~umask_) | 0700 : 0444 & ~umask_;
  if (calls_.chmod(path.c_str(), mode) == -1) throw system_error("set the mode of", path, errno);
  entry.sync();
}

}  // namespace bulksim
