#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"
#include "storage/run/recovery.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// The work of a rank, and where its output goes.
struct TileTask {
  const JobConfig& config;
  const RunSetup& setup;
  const PartSet& parts;
  std::string journal;  ///< path of this rank's journal; not created where there is nothing to do
  int attempt = 0;
  std::function<void()> before_tile;       ///< throws when the lease is lost; may be empty
  const std::vector<std::int64_t>& tiles;  ///< numbers, ascending
  std::int64_t all_tiles = 0;              ///< of all ranks
};

/// The result of that work.
struct TileOutcome {
  bool stopped = false;         ///< ended at a tile border because a stop was requested
  std::int64_t done = 0;        ///< tiles
  std::vector<Digest> digests;  ///< by number of the tile, of those that are done
  std::int64_t outside = 0;     ///< values that are not scores, where they are checked
  std::int64_t zero_tiles = 0;  ///< tiles that contain only zeros
  std::int64_t recomputed_tiles = 0;
  std::string backend;
};

/// Computes tiles, writes them with their partials, records them in the journal and syncs them.
TileOutcome compute_tiles(const TileTask& work, PhaseTimer& timer, JobContext context);

}  // namespace bulksim
