#pragma once

#include <iosfwd>
#include <string>

#include "blocks/selection.hpp"
#include "job/compute_job.hpp"
#include "job/config/job_config.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

enum class EstimateFormat { kText, kJson };

struct EstimateOptions {
  Selection selection;
  std::string against;  ///< result with the exact block map of the same inputs; may be empty
  EstimateFormat format = EstimateFormat::kText;
};

/// How much of the exact mass the blocks hold that an estimate selects.
struct Recall {
  double mass = 0.0;  ///< part of all mass in the selected blocks
  double best = 0.0;  ///< part in as many blocks, chosen by the exact map

  double ratio() const { return best > 0.0 ? mass / best : 1.0; }
};

/// Throws Error (65) when the maps are not of the same blocks.
Recall recall_of(const BlockMap& estimate, const Selection& selection, const BlockMap& exact);

/// Estimates the block map of a run from groups of `config.stride` rows, and prints at rank 0 which
/// blocks would be selected. Leaves nothing behind. A collective.
void run_estimate(const JobConfig& config, const EstimateOptions& options, JobContext context,
                  std::ostream& out);

}  // namespace bulksim
