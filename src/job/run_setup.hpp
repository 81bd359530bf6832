#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/formats/column_map.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/job/schedule.hpp"
#include "bulksim/job/survey.hpp"
#include "bulksim/storage/block_map.hpp"
#include "job/backend_choice.hpp"
#include "job/guarded_work.hpp"
#include "job/zero_rows.hpp"

namespace bulksim {

/// Everything that is known before the first byte is written.
struct RunSetup {
  SourcePair inputs;
  Surveys surveys;
  Plan plan;
  Devices devices;
  RankResources resources;
  Schedule schedule;
  std::optional<BlockMap> estimate;  ///< that tiles were selected by, and its choice
  std::vector<char> left_out;        ///< by number of the tile: 1 for those not selected; or empty
};

/// Whether an input has to be imported before it can be read by ranges of rows. Throws Error (66)
/// when there is none of that name and Error (65) when its format is not known. A collective.
bool needs_import(const JobConfig& config, JobContext context);

/// Imports what has to be into `import_folder`, opens and surveys the inputs, lets rank 0 make the
/// plan, and chooses how this run carries it out. A collective; fails on all ranks alike.
RunSetup set_up_run(const JobConfig& config, const std::string& import_folder, JobContext context,
                    PhaseTimer& timer);

/// What each tile passes on its way to an output: the watchdog, and the policy for rows without
/// values. Made before a backend, whose threads use it to their end.
class RunSink {
 public:
  /// `output` must outlive the sink.
  RunSink(const Plan& plan, TileSink& output, JobContext context);

  TileSink& entrance();
  /// Null where rows without values have cosine 0.
  NanForZeroRows* nan() { return nan_ ? &*nan_ : nullptr; }

 private:
  GuardedSink guarded_;
  std::optional<NanForZeroRows> nan_;
};

/// Reads, computes and checks these tiles (ascending numbers) and hands them to `sink`, which must
/// outlive the backend. Reading the next chunk, computing others and writing finished stripes go on
/// side by side. Throws Stopped at a tile border when a stop was requested; tiles that are at work
/// may still be finished until the backend is gone.
void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, RunSink& sink);

/// The same for the pairs that are wanted.
void stream_pairs(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  PairBackend& backend, PairSink& sink);

/// The tiles that a plan needs: all, or those with cells that can be wanted.
std::vector<std::int64_t> tiles_of(const Plan& plan);

/// The tiles of a whole run that each rank computes.
std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks);

}  // namespace bulksim
