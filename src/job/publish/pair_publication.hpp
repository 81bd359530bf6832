#pragma once

#include <functional>
#include <string>

#include "bulksim/core/file.hpp"
#include "job/plan/plan.hpp"
#include "storage/parts/pair_segments.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// What is published of a run that looked for pairs.
struct PairPublication {
  const Plan& plan;
  const PairSegments& segments;
  const std::vector<std::int64_t>& row_offsets;  ///< of the merged rows
  std::function<ResultIds()> ids;
  std::string report_json;
  /// Throws when the output is not ours any more; called before each step.
  std::function<void()> still_ours;
};

/// Name of the group that holds the pairs of a plan.
std::string pair_group(const PairFilterSpec& filter);

/// Bytes of the result in its form.
std::int64_t pair_result_bytes(const Plan& plan, const std::vector<std::int64_t>& row_offsets);

/// Merges the runs into the result, and publishes it. Returns the path that a reader opens.
std::string publish_pairs(RunDirectory& run, const PairPublication& publication, FileCalls& calls);

}  // namespace bulksim
