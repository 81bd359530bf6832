#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "job/plan/output_layout.hpp"
#include "job/verify/verification.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/run/manifest.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

/// Files of a version that are not in its manifest.
constexpr std::array<std::string_view, 4> kUnlisted{"MANIFEST.json", "_SUCCESS", "report.json",
                                                    "report.html"};

/// Checks the files of one version.
class VersionCheck {
 public:
  VersionCheck(FileCalls& calls, std::string folder, Verdict& verdict)
      : calls_(calls), folder_(std::move(folder)), verdict_(verdict) {}

  ResultInfo run();

 private:
  std::optional<std::string> text_of(const std::string& name);
  void read_plan();
  void read_manifest();
  std::vector<ManifestFile> expected_files() const;
  std::optional<ManifestFile> look_at(const ManifestFile& expected);
  void check_finalized(const Manifest& actual);
  void find_unexpected_files(const std::string& below);
  bool has_size(const std::string& name, std::int64_t bytes);
  ResultInfo info();
  std::string partial_name(std::size_t part) const {
    return partials_of(plan_->arithmetic_version, part);
  }
  void damage(const std::string& file, const std::string& what) {
    verdict_.damage.push_back({file, what});
  }

  FileCalls& calls_;
  std::string folder_;
  Verdict& verdict_;
  std::optional<Plan> plan_;
  std::optional<Manifest> manifest_;
  std::string manifest_text_;
  std::map<std::string, std::string> differing_;  // files, and their faults
  std::set<std::string> expected_;
};

std::optional<std::string> VersionCheck::text_of(const std::string& name) {
  struct stat status {};
  if (calls_.lstat((folder_ + "/" + name).c_str(), &status) == -1) {
    damage(name, "is missing");
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    damage(name, "is not a regular file");
    return std::nullopt;
  }
  return read_text(calls_, folder_ + "/" + name);
}

void VersionCheck::read_plan() {
  const std::string path = folder_ + "/PLAN.json";
  if (!exists(calls_, path)) return;  // reported with the files of the manifest
  try {
    plan_ = Plan::from_json(read_text(calls_, path));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
  }
}

void VersionCheck::read_manifest() {
  const auto text = text_of("MANIFEST.json");
  if (!text) return;
  manifest_text_ = *text;
  try {
    manifest_ = Manifest::from_json(*text);
  } catch (const Error& error) {
    damage("MANIFEST.json", error.what());
  }
}

PartLayout matrix_layout(const Plan& plan, std::size_t part) {
  return plan_part(plan.grid, plan.parts[part], "tiles", {}, plan.value_type);
}

/// From the manifest; without one, from the plan.
std::vector<ManifestFile> VersionCheck::expected_files() const {
  if (manifest_) return manifest_->files;
  std::vector<ManifestFile> files;
  if (!plan_) return files;
  for (std::size_t part = 0; part < plan_->parts.size(); ++part) {
    const PartLayout layout = matrix_layout(*plan_, part);
    if (plan_->has_matrix()) {
      files.push_back({part_file_name(part), layout.file_bytes, layout.data_offset, {}});
    }
    if (plan_->softmax_scale) files.push_back({partial_name(part), 0, 0, {}});
  }
  for (const char* name : {"PLAN.json", "similarity.h5", "tiles.idx"})
    files.push_back({name, 0, 0, {}});
  return files;
}

/// Description of the file; none when it cannot be the expected one.
std::optional<ManifestFile> VersionCheck::look_at(const ManifestFile& expected) {
  const std::string path = folder_ + "/" + expected.path;
  struct stat status {};
  if (calls_.lstat(path.c_str(), &status) == -1) {
    differing_[expected.path] = "is missing";
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    differing_[expected.path] = "is not a regular file";
    return std::nullopt;
  }
  ++verdict_.files;
  const bool whole = expected.digest_bytes == expected.bytes;
  if (status.st_size < expected.digest_bytes) {
    differing_[expected.path] = "is truncated (" + std::to_string(status.st_size) + " of " +
                                std::to_string(expected.bytes) + " bytes)";
    return std::nullopt;
  }
  ManifestFile found =
      describe_file(calls_, folder_, expected.path, whole ? -1 : expected.digest_bytes);
  if (found.bytes != expected.bytes) {
    differing_[expected.path] = "has " + std::to_string(found.bytes) + " bytes instead of " +
                                std::to_string(expected.bytes);
  } else if (found.digest != expected.digest) {
    differing_[expected.path] =
        whole ? "differs from what was published"
              : "differs from what was published in the bytes before its tiles (HDF5 metadata)";
  }
  return found;
}

/// Any one of manifest, _SUCCESS and files may be damaged: the other two agree.
void VersionCheck::check_finalized(const Manifest& actual) {
  const auto success = text_of("_SUCCESS");
  if (!manifest_) return;
  const std::string rebuilt = actual.to_json();
  const bool complete = actual.files.size() == manifest_->files.size();
  if (success && complete && rebuilt != manifest_text_ && *success == success_json(rebuilt)) {
    damage("MANIFEST.json", "does not match _SUCCESS and the files");
    differing_.clear();
    return;
  }
  if (!success || *success == success_json(manifest_text_)) return;
  if (differing_.empty()) {
    damage("_SUCCESS", "does not match the manifest and the files");
  } else {
    damage("MANIFEST.json", "does not match _SUCCESS");
    damage("_SUCCESS", "does not match the manifest");
  }
}

void VersionCheck::find_unexpected_files(const std::string& below) {
  for (const std::string& name : list_directory(calls_, folder_ + "/" + below)) {
    const std::string path = below.empty() ? name : below + "/" + name;
    if (is_directory(calls_, folder_ + "/" + path)) {
      find_unexpected_files(path);
    } else if (!expected_.contains(path) && std::ranges::find(kUnlisted, path) == kUnlisted.end()) {
      damage(path, "is an unexpected file in this version");
    }
  }
}

bool VersionCheck::has_size(const std::string& name, std::int64_t bytes) {
  struct stat status {};
  return calls_.lstat((folder_ + "/" + name).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size == bytes;
}

ResultInfo VersionCheck::info() {
  ResultInfo info;
  if (!plan_) return info;
  info.grid = plan_->grid;
  info.arithmetic_version = plan_->arithmetic_version;
  info.arithmetic = plan_->arithmetic;
  info.filter = plan_->filter;
  info.value_type = plan_->value_type;
  info.error_bound = plan_->error_bound;
  info.queries = plan_->queries;
  info.items = plan_->items;
  info.has_nan_rows = plan_->has_nan();
  info.nan_cells = plan_->nan_cells;
  info.plan = plan_;
  for (std::size_t part = 0; part < plan_->parts.size(); ++part) {
    const PartLayout layout = matrix_layout(*plan_, part);
    info.parts.layouts.push_back(layout);
    info.readable.push_back(1);
    const auto expect = [&](const std::string& name, std::int64_t bytes) {
      if (!has_size(name, bytes)) info.readable.back() = 0;
      return folder_ + "/" + name;
    };
    if (plan_->has_matrix()) {
      info.parts.paths.push_back(expect(part_file_name(part), layout.file_bytes));
    }
    if (plan_->softmax_scale) {
      info.parts.partials.push_back(
          expect(partial_name(part), partial_file_bytes(plan_->grid, layout)));
    }
    info.names.push_back(plan_->has_matrix() ? part_file_name(part) : partial_name(part));
  }
  try {
    info.digests = decode_tile_index(read_text(calls_, folder_ + "/tiles.idx"));
    if (std::ssize(info.digests) != info.grid.count()) info.digests.clear();
  } catch (const Error& error) {
    if (error.code() == ExitCode::kIoError) throw;
  }
  return info;
}

ResultInfo VersionCheck::run() {
  read_manifest();
  read_plan();
  Manifest actual{.plan = manifest_ ? manifest_->plan : "", .files = {}};
  for (const ManifestFile& expected : expected_files()) {
    expected_.insert(expected.path);
    const auto found = look_at(expected);
    if (found) actual.files.push_back(*found);
  }
  if (!manifest_) {  // sizes and digests are unknown: only what is missing counts
    std::erase_if(differing_, [](const auto& entry) { return entry.second != "is missing"; });
  }
  if (plan_ && manifest_) actual.plan = plan_->id().hex();
  check_finalized(actual);
  for (const auto& [file, what] : differing_)
    damage(file, what);
  if (manifest_ && !plan_ && !differing_.contains("PLAN.json"))
    damage("PLAN.json", "is not a plan");
  if (!expected_.empty()) find_unexpected_files("");
  // with a damaged index, every tile would look damaged
  ResultInfo result = info();
  if (differing_.contains("tiles.idx")) result.digests.clear();
  return result;
}

}  // namespace

ResultInfo verify_version(FileCalls& calls, const std::string& folder, Verdict& verdict) {
  return VersionCheck(calls, folder, verdict).run();
}

}  // namespace bulksim
