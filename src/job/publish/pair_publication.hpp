#pragma once

#include <functional>
#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "job/plan/plan.hpp"
#include "job/publish/pair_merge.hpp"
#include "job/publish/pair_text.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// The inputs of the publication of pairs.
struct PairPublication {
  const Plan& plan;
  PairMerge& merge;
  const std::vector<std::int64_t>& row_offsets;  ///< of the merged rows
  std::function<ResultIds()> ids;
  std::function<std::string()> report_json;  ///< called when the pairs are merged
  /// Throws when the lease of the output is lost; called before each step.
  std::function<void()> still_ours;
  PairText text = {};  ///< for a result as text
};

/// Name of the group that holds the pairs of a plan.
std::string pair_group(const PairFilterSpec& filter);

/// Bytes of the result in its format.
std::int64_t pair_result_bytes(const Plan& plan, const std::vector<std::int64_t>& row_offsets);

/// Merges the runs into the result, and publishes it. Returns the path that a reader opens.
std::string publish_pairs(RunDirectory& run, const PairPublication& publication, FileCalls& calls,
                          Log& log);

/// Logs the digest of a file in a format that has no place for it.
void log_digest(const std::string& path, const Digest& digest, Log& log);

}  // namespace bulksim
