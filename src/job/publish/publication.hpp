#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "job/config/job_config.hpp"
#include "job/plan/plan.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/result/block_map.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// The inputs of the publication of a matrix.
struct Publication {
  const JobConfig& config;
  const Plan& plan;
  const PartSet& parts;
  const std::vector<Digest>& digests;
  std::optional<std::int64_t> outside;  ///< values that are not scores, where they were counted
  std::int64_t zero_rows = 0;           ///< of all inputs, those of a self-join once
  std::function<ResultIds()> ids;       ///< those of the plan
  std::string report_json;
  int threads = 1;
  /// Throws when the lease of the output is lost; called before each step.
  std::function<void()> still_ours = [] {};
  const BlockMap* blocks = nullptr;  ///< null without block sums
};

/// Writes what a reader needs in addition to the tiles (similarity.h5 or attributes, tiles.idx,
/// report, manifest), reads back tiles as --verify requests, compares the result with the previous
/// version, and publishes the run. Returns the path that a reader opens. Throws Error (65) when a
/// tile differs from what was written, or when --guard prevents publishing: everything is then
/// kept, and --accept-change publishes it.
std::string publish(RunDirectory& run, const Publication& publication, FileCalls& calls);

}  // namespace bulksim
