#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

/// What is left of earlier attempts at the same plan.
enum class Staged {
  kNothing,     ///< an empty staging folder
  kUnfinished,  ///< parts and journals, as far as they got
  kFinalized,   ///< all that is missing is the publication
};

/// A run on disk, from its staging folder to the published result.
///
///   OUT/CURRENT -> versions/000123-<plan>     OUT/staging/<plan>/..      (kVersions)
///   result.h5                                 .result.h5.bulksim/<plan>/..   (kSingleFile)
///
///   <plan>/PLAN.json  parts/  journal/a0003-r0007  attempts/0003/  errors/
///
/// <plan> is the first 8 hex digits of the plan. A staging folder stays until its plan is
/// published, so the same command finds its own work. All calls are rank 0's but the paths. To be
/// made before other threads make files, since it reads the umask.
class RunDirectory {
 public:
  RunDirectory(FileCalls& calls, std::string output, Digest plan);

  OutputForm form() const { return form_; }
  const std::string& output() const { return output_; }
  const std::string& staging() const { return staging_; }
  /// Holds the staging folders of all plans.
  std::string work_folder() const;
  std::string lease_path() const;
  /// Holds imported inputs until a result is published.
  std::string imports_folder() const { return work_folder() + "/inputs"; }
  std::string plan_name() const { return plan_; }
  /// Relative to the staging folder: "parts/part-00007.h5", or "result.h5" for a single file.
  std::string part_name(std::size_t part) const;
  std::string part_path(std::size_t part) const { return staging_ + "/" + part_name(part); }
  std::string journal_path(int attempt, int rank) const;
  /// Journal of what an attempt found wrong in those before it.
  std::string dropped_path(int attempt) const;
  std::string errors_folder() const { return staging_ + "/errors"; }

  /// The path that a reader opens, when the result of this plan is published and nothing is left to
  /// do. Changes nothing.
  std::optional<std::string> published(const std::string& plan_json) const;
  /// Makes the output folder, or takes one that is empty or marked as ours. Throws Error (73) when
  /// something else is there or the parent is missing, and Error (77) without the permission.
  void claim();
  /// Finishes a publication that was stopped after its rename: the path that a reader opens, or
  /// nothing when this plan has yet to be computed. Needs the lease.
  std::optional<std::string> finish_publication(const std::string& plan_json);
  /// Makes the staging folder with PLAN.json, or finds the one of an earlier attempt.
  Staged prepare(const std::string& plan_json);
  /// Begins an attempt: the number after the last.
  int begin_attempt();
  /// Journals of all attempts at this plan, by attempt and rank.
  std::vector<std::string> journals() const;
  /// Finalizes the staged tree: `manifest_json`, then _SUCCESS with its digest, modes 0444 &
  /// ~umask, everything synced; then one rename of the tree and CURRENT (or of the one file, which
  /// has no manifest). `before_step` is called before each step that others see. Returns the path
  /// that a reader opens.
  std::string publish(
      const std::string& manifest_json, const std::function<void()>& before_step = [] {});
  /// The same for a tree that is finalized already.
  std::string publish_finalized(const std::function<void()>& before_step);

 private:
  std::string publish_file(const std::function<void()>& before_step);
  void remove_pair_segments();
  void remove_work_folder();
  std::int64_t next_version() const;
  std::optional<std::string> newest_of_plan(const std::string& plan_json) const;
  void finalize(const std::string& path) const;

  FileCalls& calls_;
  std::string output_;
  OutputForm form_;
  Digest plan_id_;
  std::string plan_;
  std::string staging_;
  mode_t umask_;
};

}  // namespace bulksim
