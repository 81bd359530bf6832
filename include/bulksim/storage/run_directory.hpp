#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Where the result of a run goes; the suffix of the path decides.
enum class OutputForm {
  kVersions,    ///< a folder with numbered versions and CURRENT
  kSingleFile,  ///< one ordinary .h5 file, by temp and rename
};

OutputForm output_form(const std::string& output);

/// A run on disk, from its staging folder to the published result.
///
///   OUT/CURRENT -> versions/000123-<plan>     OUT/staging/<plan>/..      (kVersions)
///   result.h5                                 .result.h5.bulksim/<plan>/..   (kSingleFile)
///
/// <plan> is the first 8 hex digits of the plan. All calls are rank 0's but the paths. To be made
/// before other threads make files, since it reads the umask.
class RunDirectory {
 public:
  RunDirectory(FileCalls& calls, std::string output, Digest plan);

  OutputForm form() const { return form_; }
  const std::string& output() const { return output_; }
  const std::string& staging() const { return staging_; }
  /// Relative to the staging folder: "parts/part-00007.h5", or "result.h5" for a single file.
  std::string part_name(std::size_t part) const;
  std::string part_path(std::size_t part) const { return staging_ + "/" + part_name(part); }

  /// Makes the output folder, or takes one that is empty or marked as ours, and an empty staging
  /// folder with PLAN.json and, for versions, parts/. Throws Error (73) when something else is
  /// there or the parent is missing, and Error (77) without the permission.
  void prepare(const std::string& plan_json);
  /// Seals the staged tree: `manifest_json`, then _SUCCESS with its digest, modes 0444 & ~umask,
  /// everything synced; then one rename of the tree and CURRENT (or of the one file, which has no
  /// manifest). Returns the path that a reader opens.
  std::string publish(const std::string& manifest_json);

 private:
  std::string work_folder() const;
  std::string publish_version(const std::string& manifest_json);
  std::string publish_file();
  std::int64_t next_version() const;
  void seal(const std::string& path) const;

  FileCalls& calls_;
  std::string output_;
  OutputForm form_;
  std::string plan_;
  std::string staging_;
  mode_t umask_;
};

}  // namespace bulksim
