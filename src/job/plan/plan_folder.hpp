#pragma once

#include <optional>
#include <string>

#include "core/files/process_folder.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"

namespace bulksim {

/// A temporary folder beside the output for the files of a plan or an estimate. Rank 0 writes to
/// it.
class PlanFolder {
 public:
  /// A collective.
  PlanFolder(const JobConfig& config, JobContext context);

  const std::string& path() const { return path_; }
  /// Files that are open can still be read.
  void remove() { folder_.reset(); }

 private:
  std::optional<ProcessFolder> folder_;
  std::string path_;
};

}  // namespace bulksim
