#include "storage/run/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "bulksim/core/error.hpp"
#include "core/files/staged_file.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/run/output_folder.hpp"
#include "storage/run/single_file.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

/// Work folders in a staging folder, beside the result.
constexpr std::array<const char*, 3> kWorkNames{"journal", "attempts", "errors"};

constexpr const char* kLeaseName = "LOCK";

std::string without_trailing_slashes(std::string path) {
  if (path.empty()) throw Error(ExitCode::kUsage, "the output has no name: give one with --output");
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

/// Name of a work folder while it is being removed.
std::string leaving_folder(const std::string& work_folder) {
  return work_folder + ".old";
}

bool is_symbolic_link(FileCalls& calls, const std::string& path) {
  const auto status = find_status(calls, path);
  return status && S_ISLNK(status->st_mode);
}

bool is_attempt(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

RunDirectory::RunDirectory(FileCalls& calls, const std::string& output, Digest plan,
                           Overwrite overwrite)
    : calls_(calls),
      output_(without_trailing_slashes(output)),
      form_(output_form(output)),
      overwrite_(overwrite),
      plan_id_(plan),
      plan_(plan.hex().substr(0, 8)),
      staging_(work_folder() + "/" + plan_),
      umask_(process_umask()) {}

std::string RunDirectory::work_folder() const {
  return form_ == OutputForm::kVersions ? output_ + "/staging" : work_folder_of_file(output_);
}

std::string RunDirectory::lease_path() const {
  return inside(form_ == OutputForm::kVersions ? output_ : work_folder(), kLeaseName);
}

std::string RunDirectory::part_name(std::size_t part) const {
  return form_ == OutputForm::kSingleFile ? "result.h5" : part_file_name(part);
}

std::string RunDirectory::journal_path(int attempt, int rank) const {
  char name[64];
  std::snprintf(name, sizeof name, "/journal/a%04d-r%04d", attempt, rank);
  return staging_ + name;
}

std::string RunDirectory::dropped_path(int attempt) const {
  char name[64];
  std::snprintf(name, sizeof name, "/journal/a%04d-dropped", attempt);
  return staging_ + name;
}

std::optional<std::string> RunDirectory::published(const std::string& plan_json) const {
  if (form_ == OutputForm::kSingleFile) {
    // a run that was stopped during cleanup leaves one of the two
    const bool cleared =
        !exists(calls_, work_folder()) && !exists(calls_, leaving_folder(work_folder()));
    return cleared && holds_result_of(calls_, output_, plan_id_) ? std::optional(output_)
                                                                 : std::nullopt;
  }
  if (!exists(calls_, output_ + "/CURRENT")) return std::nullopt;
  const std::string version = current_version(calls_, output_);
  const std::string folder = output_ + "/versions/" + version;
  if (version.empty() || !exists(calls_, folder + "/PLAN.json") ||
      read_text(calls_, folder + "/PLAN.json") != plan_json) {
    return std::nullopt;
  }
  const std::string damage = damage_of_version(calls_, folder);
  if (damage.empty()) return output_ + "/CURRENT/similarity.h5";
  throw Error(ExitCode::kDataError,
              damage +
                  ": this result is published already and damaged; mend it with bulksim repair "
                  "OUT, or compute it anew with --overwrite");
}

Claim RunDirectory::claim() {
  if (form_ == OutputForm::kSingleFile) {
    require_replaceable(calls_, output_, overwrite_);
    return claim_folder(calls_, work_folder(), 0700);
  }
  const bool is_link = is_symbolic_link(calls_, output_);
  if (is_link && !leads_to_directory(calls_, output_)) {
    throw not_ours(output_, "is a symbolic link that leads to no folder");
  }
  const Claim claim = claim_folder(calls_, is_link ? output_ + "/" : output_, 0777);
  // checked now rather than after the last tile
  const std::string current = output_ + "/CURRENT";
  if (is_directory(calls_, current)) throw not_ours(current, "is a folder, not a symbolic link");
  return claim;
}

std::optional<std::string> RunDirectory::finish_publication(const std::string& plan_json) {
  if (form_ == OutputForm::kSingleFile) {
    if (!holds_result_of(calls_, output_, plan_id_)) return std::nullopt;
    remove_work_folder();
    return output_;
  }
  const auto newest = newest_of_plan(plan_json);
  if (!newest) return published(plan_json);
  set_current(calls_, output_, *newest);
  return output_ + "/CURRENT/similarity.h5";
}

/// The newest version, if it has this plan and is newer than the current one.
std::optional<std::string> RunDirectory::newest_of_plan(const std::string& plan_json) const {
  if (!is_directory(calls_, output_ + "/versions")) return std::nullopt;
  const auto versions = list_versions(calls_, output_);
  if (versions.empty() || versions.back().current) return std::nullopt;
  const std::string& name = versions.back().name;
  const bool same = read_text(calls_, output_ + "/versions/" + name + "/PLAN.json") == plan_json;
  return same ? std::optional(name) : std::nullopt;
}

Staged RunDirectory::prepare(const std::string& plan_json) {
  if (form_ == OutputForm::kVersions) {
    make_inner_folder(calls_, output_, output_ + "/versions", 0777);
    make_inner_folder(calls_, output_, work_folder(), 0700);
  }
  remove_marker_leftovers(calls_, form_ == OutputForm::kVersions ? output_ : work_folder());
  const bool resumed = exists(calls_, staging_ + "/PLAN.json") &&
                       read_text(calls_, staging_ + "/PLAN.json") == plan_json;
  if (!resumed) remove_tree(calls_, staging_);
  make_inner_folder(calls_, work_folder(), staging_, 0700);
  if (form_ == OutputForm::kVersions) make_folder(calls_, staging_ + "/parts", 0700);
  if (resumed && form_ == OutputForm::kVersions && is_finalized(calls_, staging_)) {
    return Staged::kFinalized;
  }
  for (const char* name : kWorkNames)
    make_folder(calls_, inside(staging_, name), 0700);
  remove_staged_leftovers(calls_, form_ == OutputForm::kVersions ? output_ : work_folder());
  remove_staged_leftovers(calls_, staging_);
  if (is_directory(calls_, staging_ + "/parts"))
    remove_staged_leftovers(calls_, staging_ + "/parts");
  if (!resumed) create_file(calls_, staging_ + "/PLAN.json", plan_json);
  sync_directory(calls_, staging_);
  sync_directory(calls_, work_folder());
  sync_directory(calls_, parent_of(work_folder()));
  return resumed ? Staged::kUnfinished : Staged::kNothing;
}

int RunDirectory::begin_attempt() {
  long last = 0;
  for (const std::string& name : list_directory(calls_, staging_ + "/attempts")) {
    if (is_attempt(name)) last = std::max(last, std::strtol(name.c_str(), nullptr, 10));
  }
  for (const std::string& name : list_directory(calls_, staging_ + "/journal"))
    last = std::max(last, std::strtol(name.c_str() + 1, nullptr, 10));
  for (int attempt = static_cast<int>(last) + 1;; ++attempt) {
    char name[32];
    std::snprintf(name, sizeof name, "/attempts/%04d", attempt);
    if (calls_.mkdir((staging_ + name).c_str(), 0700) == 0) return attempt;
    if (errno != EEXIST) throw system_error("create the folder", staging_ + name, errno);
  }
}

std::vector<std::string> RunDirectory::journals() const {
  std::vector<std::string> paths;
  for (const std::string& name : list_directory(calls_, staging_ + "/journal"))
    paths.push_back(staging_ + "/journal/" + name);
  return paths;
}

std::string RunDirectory::publish(const std::string& manifest_json,
                                  const std::function<void()>& before_step) {
  if (form_ == OutputForm::kSingleFile) return publish_file(before_step);
  const std::string success = success_json(manifest_json);
  before_step();
  // _SUCCESS comes last: when it exists, even after a power failure, all other files do.
  finalize(staging_);
  replace_file(calls_, staging_ + "/MANIFEST.json", manifest_json);
  replace_file(calls_, staging_ + "/_SUCCESS", success);
  return publish_finalized(before_step);
}

std::string RunDirectory::publish_finalized(const std::function<void()>& before_step) {
  before_step();
  for (const char* name : kWorkNames)
    remove_tree(calls_, inside(staging_, name));
  remove_pair_runs();
  finalize(staging_);
  char number[32];
  std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(next_version()));
  const std::string name = std::string(number) + "-" + plan_;
  before_step();
  rename_durably(calls_, staging_, output_ + "/versions/" + name);
  before_step();
  set_current(calls_, output_, name);
  remove_tree(calls_, imports_folder());
  return output_ + "/CURRENT/similarity.h5";
}

/// Removes the runs of pairs, which have been merged into the result, but not the parts of a
/// matrix.
void RunDirectory::remove_pair_runs() {
  const std::string parts = staging_ + "/parts";
  if (!is_directory(calls_, parts)) return;
  for (const std::string& path : pair_run_files(calls_, parts))
    remove_file(calls_, path);
  if (list_directory(calls_, parts).empty()) remove_tree(calls_, parts);
}

std::string RunDirectory::publish_file(const std::function<void()>& before_step) {
  const std::string staged = part_path(0);
  before_step();
  finalize(staged);
  require_replaceable(calls_, output_, overwrite_);
  before_step();
  rename_durably(calls_, staged, output_);
  remove_work_folder();
  return output_;
}

/// Does nothing when other plans have work in the folder. It is renamed first, with the lease in
/// it, so that no process sees a partly removed folder.
void RunDirectory::remove_work_folder() {
  remove_tree(calls_, staging_);
  remove_tree(calls_, imports_folder());
  if (holds_work()) return;
  const std::string old = leaving_folder(work_folder());
  remove_tree(calls_, old);
  rename_durably(calls_, work_folder(), old);
  remove_tree(calls_, old);
}

/// Whether the work folder holds more than imports, marker and lease.
bool RunDirectory::holds_work() const {
  if (!is_directory(calls_, work_folder())) return false;
  const std::vector<std::string> names = list_directory(calls_, work_folder());
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return inside(work_folder(), name) != imports_folder() && !name.starts_with(kMarkerName) &&
           !name.starts_with(kLeaseName);
  });
}

bool RunDirectory::has_imports() const {
  return is_directory(calls_, imports_folder()) &&
         !list_directory(calls_, imports_folder()).empty();
}

void RunDirectory::withdraw(Claim claim) {
  const std::string attempts = staging_ + "/attempts";
  const bool has_begun =
      exists(calls_, staging_ + "/_SUCCESS") ||
      (is_directory(calls_, attempts) && !list_directory(calls_, attempts).empty());
  if (!has_begun) remove_tree(calls_, staging_);
  if (holds_work()) return;
  if (form_ == OutputForm::kSingleFile) {
    remove_work_folder();
    return;
  }
  remove_tree(calls_, work_folder());
  if (claim == Claim::kOurs) return;
  calls_.rmdir((output_ + "/versions").c_str());
  remove_file(calls_, inside(output_, kMarkerName));
  remove_file(calls_, lease_path());
  // fails when another process has begun to use the folder
  if (claim == Claim::kNew) calls_.rmdir(output_.c_str());
}

std::int64_t RunDirectory::next_version() const {
  std::int64_t last = 0;
  for (const std::string& name : list_directory(calls_, output_ + "/versions")) {
    last = std::max(last, version_number(name));
  }
  return last + 1;
}

/// Sets the final modes and syncs everything. Folders keep the owner's write permission, so that
/// the owner can remove them.
void RunDirectory::finalize(const std::string& path) const {
  const File entry = File::open(calls_, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (calls_.fstat(entry.descriptor(), &status) == -1) throw system_error("inspect", path, errno);
  if (S_ISDIR(status.st_mode)) {
    for (const std::string& name : list_directory(calls_, path))
      finalize(inside(path, name));
  } else if (!S_ISREG(status.st_mode)) {
    throw not_ours(path, "is neither a file nor a folder");
  }
  const mode_t mode = S_ISDIR(status.st_mode) ? (0777 & ~umask_) | 0700 : 0444 & ~umask_;
  if (calls_.chmod(path.c_str(), mode) == -1) throw system_error("set the mode of", path, errno);
  entry.sync();
}

}  // namespace bulksim
