#pragma once

#include <memory>
#include <vector>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/job/schedule.hpp"
#include "bulksim/job/survey.hpp"

namespace bulksim {

/// Both sides of a run, open for reading.
struct Inputs {
  std::unique_ptr<MatrixSource> queries;
  std::unique_ptr<MatrixSource> items;
};

/// Everything that is known before the first byte is written.
struct RunSetup {
  Inputs inputs;
  Surveys surveys;
  Plan plan;
  RankResources resources;
  Schedule schedule;
};

/// Opens and surveys the inputs, lets rank 0 make the plan, and chooses how this run carries it
/// out. A collective; fails on all ranks alike.
RunSetup set_up_run(const JobConfig& config, JobContext context, PhaseTimer& timer);

/// Reads, computes and checks these tiles (ascending numbers) and hands them to `output`. Reading
/// the next chunk, computing two and writing finished stripes go on side by side. Throws Stopped at
/// a tile border when a stop was requested; tiles that are at work may still be finished until the
/// backend is gone.
void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, TileSink& output, JobContext context);

/// The tiles of the whole matrix that each rank computes.
std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks);

}  // namespace bulksim
