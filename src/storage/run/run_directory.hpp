#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "storage/result/result_path.hpp"
#include "storage/run/output_folder.hpp"
#include "storage/run/single_file.hpp"

namespace bulksim {

/// What earlier attempts at the same plan have left.
enum class Staged {
  kNothing,     ///< an empty staging folder
  kUnfinished,  ///< parts and journals, as far as they got
  kFinalized,   ///< complete, but not published
};

/// The files of a run, from its staging folder to the published result.
///
///   OUT/CURRENT -> versions/000123-<plan>     OUT/staging/<plan>/..      (kVersions)
///   result.h5                                 .result.h5.bulksim/<plan>/..   (kSingleFile)
///
///   <plan>/PLAN.json  parts/  journal/a0003-r0007  attempts/0003/  errors/
///
/// <plan> is the first 8 hex digits of the plan. A staging folder stays until its plan is
/// published, so that the same command finds its work. Only rank 0 calls functions other than those
/// that return paths. Must be constructed before other threads create files, since it reads the
/// umask.
class RunDirectory {
 public:
  RunDirectory(FileCalls& calls, const std::string& output, Digest plan,
               Overwrite overwrite = Overwrite::kResults);

  OutputForm form() const { return form_; }
  const std::string& output() const { return output_; }
  const std::string& staging() const { return staging_; }
  /// Contains the staging folders of all plans.
  std::string work_folder() const;
  std::string lease_path() const;
  /// Contains imported inputs until a result is published.
  std::string imports_folder() const { return work_folder() + "/inputs"; }
  std::string plan_name() const { return plan_; }
  /// Relative to the staging folder: "parts/part-00007.h5", or "result.h5" for a single file.
  std::string part_name(std::size_t part) const;
  std::string part_path(std::size_t part) const { return staging_ + "/" + part_name(part); }
  std::string journal_path(int attempt, int rank) const;
  /// Journal of the tiles that an attempt dropped from those before it.
  std::string dropped_path(int attempt) const;
  std::string errors_folder() const { return staging_ + "/errors"; }

  /// The path that a reader opens, if the result of this plan is published and nothing is left to
  /// do. Changes nothing. Throws Error (65) when a file of it does not have its size.
  std::optional<std::string> published(const std::string& plan_json) const;
  /// Creates the output folder, or claims one that is empty or has our marker; it may be a symbolic
  /// link to such a folder. Throws Error (73) when something else exists there or the parent is
  /// missing, and Error (77) without permission.
  Claim claim();
  /// Undoes `claim`, and removes imported inputs and a staging folder in which no attempt has
  /// begun, unless there is other work. Requires the lease, which is removed with its folder.
  void withdraw(Claim claim);
  /// Whether an input has been imported.
  bool has_imports() const;
  /// Completes a publication that was stopped after its rename. Returns the path that a reader
  /// opens, or nothing when this plan is not computed yet. Requires the lease.
  std::optional<std::string> finish_publication(const std::string& plan_json);
  /// Creates the staging folder with PLAN.json, or finds that of an earlier attempt.
  Staged prepare(const std::string& plan_json);
  /// Begins an attempt and returns its number, one more than the last.
  int begin_attempt();
  /// Paths of the journals of all attempts at this plan, by attempt and rank.
  std::vector<std::string> journals() const;
  /// Finalizes the staged tree: writes `manifest_json`, then _SUCCESS with its digest, sets modes
  /// 0444 & ~umask and syncs everything. Then renames the tree and changes CURRENT (or renames the
  /// single file, which has no manifest). `before_step` is called before each visible step. Returns
  /// the path that a reader opens.
  std::string publish(
      const std::string& manifest_json, const std::function<void()>& before_step = [] {});
  /// The same for a tree that is already finalized.
  std::string publish_finalized(const std::function<void()>& before_step);

 private:
  std::string publish_file(const std::function<void()>& before_step);
  void remove_pair_runs();
  void remove_work_folder();
  bool holds_work() const;
  std::int64_t next_version() const;
  std::optional<std::string> newest_of_plan(const std::string& plan_json) const;
  void finalize(const std::string& path) const;

  FileCalls& calls_;
  std::string output_;
  OutputForm form_;
  Overwrite overwrite_;
  Digest plan_id_;
  std::string plan_;
  std::string staging_;
  mode_t umask_;
};

}  // namespace bulksim
