#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/run/phase_timer.hpp"
#include "formats/shared/column_map.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/input/survey.hpp"
#include "job/plan/plan.hpp"
#include "job/plan/schedule.hpp"
#include "job/run/devices.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// Everything that is known before the first byte is written.
struct RunSetup {
  SourcePair inputs;
  Surveys surveys;
  Plan plan;
  Devices devices;
  RankResources resources;
  Schedule schedule;
  std::optional<BlockMap> estimate;  ///< by which tiles were selected, with the selection
  std::vector<char> left_out;        ///< by number of the tile: 1 for those not selected; or empty
  bool is_self_join = false;         ///< the items are compared with themselves

  /// Whether the rows of a self-join are held once, as queries and as items: on the CPU, where all
  /// of them are one batch of queries.
  bool rows_serve_both_sides() const;
  /// Counts of the rows of all inputs, those of a self-join once.
  CanonicalizationCounts counts() const;
  /// "5 rows" of a self-join, or "3 queries and 2 items".
  std::string rows_text(std::int64_t queries, std::int64_t items) const;
};

/// Whether an input has to be imported before it can be read by ranges of rows. Throws Error (66)
/// when it does not exist and Error (65) when its format is not known. A collective.
bool needs_import(const JobConfig& config, JobContext context);

/// Imports inputs into `import_folder` where needed, opens and surveys them, makes the plan at rank
/// 0, and chooses the schedule of this run. A collective; fails on all ranks alike.
RunSetup set_up_run(const JobConfig& config, const std::string& import_folder, JobContext context,
                    PhaseTimer& timer);

/// Logs what will be computed.
void log_plan(const RunSetup& setup, Log& log);

}  // namespace bulksim
