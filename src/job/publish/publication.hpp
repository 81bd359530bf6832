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

/// What is published, and under which conditions.
struct Publication {
  const JobConfig& config;
  const Plan& plan;
  const PartSet& parts;
  const std::vector<Digest>& digests;
  std::optional<std::int64_t> outside;  ///< values that are no cosine, where they were counted
  std::int64_t zero_rows = 0;           ///< of both inputs
  std::function<ResultIds()> ids;       ///< those that the plan knows
  std::string report_json;
  int threads = 1;
  /// Throws when the output is not ours any more; called before each step.
  std::function<void()> still_ours = [] {};
  const BlockMap* blocks = nullptr;  ///< where they are formed
};

/// Writes what a reader needs beside the tiles (similarity.h5 or attributes, tiles.idx, report,
/// manifest), reads back what it is asked to, holds the result against the version before, and
/// publishes the run. Returns the path that a reader opens. Throws Error (65) when a tile reads
/// differently, or when a guard refuses: all is kept then, and --accept-change publishes it.
std::string publish(RunDirectory& run, const Publication& publication, FileCalls& calls);

}  // namespace bulksim
