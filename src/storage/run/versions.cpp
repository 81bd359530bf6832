#include "storage/run/versions.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"
#include "core/run/stop_request.hpp"
#include "core/text/json.hpp"
#include "storage/run/manifest.hpp"

namespace bulksim {

namespace {

constexpr std::string_view kVersions = "versions/";

struct stat status_of(FileCalls& calls, const std::string& path) {
  struct stat status {};
  if (calls.lstat(path.c_str(), &status) == -1) throw system_error("inspect", path, errno);
  return status;
}

bool has_size(FileCalls& calls, const std::string& path, std::int64_t bytes) {
  struct stat status {};
  return calls.lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size == bytes;
}

/// Runs a step of a removal; a failure is recorded in `removal`.
template <class Step>
void run_step(Removal& removal, const std::string& name, Step&& step) {
  try {
    step();
    removal.removed.push_back(name);
  } catch (const Error& error) {
    removal.failures.emplace_back(error.what());
  }
}

void empty_trash(FileCalls& calls, const std::string& output, Removal& removal, double seconds,
                 const Stopwatch& watch) {
  const std::string trash = output + "/trash";
  if (!is_directory(calls, trash)) return;
  for (const std::string& name : list_directory(calls, trash)) {
    if (version_number(name) == 0 || watch.seconds() > seconds || kOnlySignals.requested())
      continue;
    run_step(removal, name, [&] { remove_tree(calls, inside(trash, name)); });
  }
}

void move_to_trash(FileCalls& calls, const std::string& output, const std::string& name) {
  const std::string trash = output + "/trash";
  if (calls.mkdir(trash.c_str(), 0700) == -1 && errno != EEXIST) {
    throw system_error("create the folder", trash, errno);
  }
  remove_tree(calls, inside(trash, name));
  rename_durably(calls, output + "/versions/" + name, inside(trash, name));
}

/// Time of the last write to a staging folder.
std::int64_t last_change(FileCalls& calls, const std::string& staging) {
  std::int64_t last = status_of(calls, staging).st_mtime;
  for (const char* part : {"/journal", "/parts", "/attempts", "/errors"}) {
    if (!is_directory(calls, staging + part)) continue;
    last = std::max<std::int64_t>(last, status_of(calls, staging + part).st_mtime);
    for (const std::string& name : list_directory(calls, staging + part)) {
      last = std::max<std::int64_t>(last, status_of(calls, inside(staging + part, name)).st_mtime);
    }
  }
  return last;
}

bool is_staging_name(const std::string& name) {
  return name.size() == 8 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string success_json(const std::string& manifest_json) {
  const Manifest manifest = Manifest::from_json(manifest_json);
  std::int64_t bytes = 0;
  for (const ManifestFile& file : manifest.files)
    bytes += file.bytes;
  const Digest digest = digest_of(std::as_bytes(std::span<const char>(manifest_json)));
  return JsonObject()
             .add("bytes", bytes)
             .add("files", manifest.files.size())
             .add("manifest", digest.hex())
             .text(1) +
         "\n";
}

std::string damage_of_version(FileCalls& calls, const std::string& folder) {
  try {
    const std::string text = read_text(calls, folder + "/MANIFEST.json");
    if (read_text(calls, folder + "/_SUCCESS") != success_json(text))
      return "'" + folder + "/_SUCCESS' does not match the manifest";
    for (const ManifestFile& file : Manifest::from_json(text).files) {
      const std::string path = inside(folder, file.path);
      if (!has_size(calls, path, file.bytes))
        return "'" + path + "' does not have its " + std::to_string(file.bytes) + " bytes";
    }
    return "";
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDataError) return error.what();
    throw;
  }
}

bool is_finalized(FileCalls& calls, const std::string& folder) {
  return exists(calls, folder + "/_SUCCESS") && exists(calls, folder + "/MANIFEST.json") &&
         damage_of_version(calls, folder).empty();
}

std::int64_t version_number(const std::string& name) {
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, status] = std::from_chars(name.data(), end, number);
  return status == std::errc{} && stop != end && *stop == '-' ? number : 0;
}

std::string current_version(FileCalls& calls, const std::string& output) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length =
      calls.readlink((output + "/CURRENT").c_str(), target.data(), target.size());
  if (length == -1) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EINVAL) return "";
    throw system_error("read", output + "/CURRENT", errno);
  }
  const std::string_view text(target.data(), length);
  if (!text.starts_with(kVersions)) return "";
  const std::string name(text.substr(kVersions.size()));
  return version_number(name) > 0 && name.find('/') == std::string::npos ? name : "";
}

void set_current(FileCalls& calls, const std::string& output, const std::string& name) {
  const std::string link = output + "/.CURRENT.tmp";
  remove_file(calls, link);
  if (calls.symlink(("versions/" + name).c_str(), link.c_str()) == -1) {
    throw system_error("create", link, errno);
  }
  rename_durably(calls, link, output + "/CURRENT");
}

std::vector<Version> list_versions(FileCalls& calls, const std::string& output) {
  if (!exists(calls, output + "/.bulksim")) {
    throw Error(ExitCode::kNoInput, "'" + output + "' is not an output folder of bulksim");
  }
  const std::string current = current_version(calls, output);
  std::vector<Version> versions;
  if (!is_directory(calls, output + "/versions")) return versions;
  for (const std::string& name : list_directory(calls, output + "/versions")) {
    const std::string folder = output + "/versions/" + name;
    if (version_number(name) == 0 || !is_directory(calls, folder) || !is_finalized(calls, folder)) {
      continue;
    }
    const auto manifest = Manifest::from_json(read_text(calls, folder + "/MANIFEST.json"));
    Version version{version_number(name), name, manifest.plan, 0, 0, name == current};
    for (const ManifestFile& file : manifest.files)
      version.bytes += file.bytes;
    version.published = status_of(calls, folder + "/_SUCCESS").st_mtime;
    versions.push_back(std::move(version));
  }
  std::sort(versions.begin(), versions.end(),
            [](const Version& a, const Version& b) { return a.number < b.number; });
  return versions;
}

Version find_version(FileCalls& calls, const std::string& output, std::int64_t number) {
  for (Version& version : list_versions(calls, output)) {
    if (version.number == number) return std::move(version);
  }
  throw Error(ExitCode::kNoInput, "'" + output + "' contains no complete version " +
                                      std::to_string(number) +
                                      " (bulksim versions lists the complete ones)");
}

Removal retire_versions(FileCalls& calls, const std::string& output, std::int64_t keep,
                        double seconds) {
  Removal removal;
  const Stopwatch watch;
  Removal leftovers;  // of an earlier call, which has reported them already
  empty_trash(calls, output, leftovers, seconds, watch);
  const std::vector<Version> versions = list_versions(calls, output);
  const auto surplus = std::max<std::int64_t>(std::ssize(versions) - keep, 0);
  for (std::int64_t i = 0; i < surplus && watch.seconds() < seconds; ++i) {
    if (kOnlySignals.requested()) break;  // the next run goes on
    const Version& version = versions[i];
    if (version.current) continue;
    run_step(removal, version.name, [&] {
      move_to_trash(calls, output, version.name);
      remove_tree(calls, output + "/trash/" + version.name);
    });
  }
  removal.failures.insert(removal.failures.end(), leftovers.failures.begin(),
                          leftovers.failures.end());
  return removal;
}

Removal remove_stale_staging(FileCalls& calls, const std::string& work_folder,
                             const std::string& own_plan, std::int64_t before) {
  Removal removal;
  for (const std::string& name : list_directory(calls, work_folder)) {
    const std::string staging = inside(work_folder, name);
    if (!is_staging_name(name) || name == own_plan || !is_directory(calls, staging)) continue;
    try {
      if (last_change(calls, staging) >= before) continue;
    } catch (const Error& error) {
      removal.failures.emplace_back(error.what());
      continue;
    }
    run_step(removal, name, [&] { remove_tree(calls, staging); });
  }
  return removal;
}

std::string version_folder(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) throw Error(ExitCode::kNoInput, "there is no result '" + path + "'");
  std::string place = real_path(calls, path);
  if (!is_directory(calls, place)) {
    return place.ends_with("/similarity.h5") && exists(calls, parent_of(place) + "/PLAN.json")
               ? parent_of(place)
               : "";
  }
  if (exists(calls, place + "/CURRENT")) {
    const std::string version = current_version(calls, place);
    if (!version.empty() && is_directory(calls, place + "/versions/" + version)) {
      return place + "/versions/" + version;
    }
    throw Error(ExitCode::kDataError,
                "'" + path + "/CURRENT' does not point to a version of this output");
  }
  for (const char* name : {"/MANIFEST.json", "/_SUCCESS", "/similarity.h5"}) {
    if (exists(calls, place + name)) return place;
  }
  throw Error(ExitCode::kNoInput, "the folder '" + path + "' contains no finished result");
}

}  // namespace bulksim
