#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/block_map.hpp"
#include "bulksim/storage/part_file.hpp"
#include "bulksim/storage/recovery.hpp"
#include "bulksim/storage/result_names.hpp"
#include "bulksim/storage/run_directory.hpp"

namespace bulksim {

/// Part files of a run, and where their tiles lie.
PartSet make_layout(const Plan& plan, const RunDirectory& run);

/// Folder on whose file system the output goes: the nearest one that exists.
std::string existing_folder(FileCalls& calls, std::string path);

/// Bytes of all files of tiles and of terms.
std::int64_t output_bytes(const TileGrid& grid, const PartSet& parts);

/// Bytes of all files of the result that hold no times: those of the manifest, or the one file.
/// `scratch` names a file that is made for it and removed.
std::int64_t result_bytes(const Plan& plan, const PartSet& parts, OutputForm form, FileCalls& calls,
                          const std::string& scratch);

/// Says what will be written and how much is free; throws Error (74) when it is more than
/// --max-output, and names what would fit. Without --max-output, files that an earlier attempt has
/// made do not count: their space is taken.
void check_output_size(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       JobContext context);

/// What a result says of itself.
FileAttributes attributes_of(const Plan& plan);

/// What is published, and under which conditions.
struct Publication {
  const JobConfig& config;
  const Plan& plan;
  const PartSet& parts;
  const std::vector<Digest>& digests;
  std::optional<std::int64_t> outside;  ///< values that are no cosine, where they were counted
  std::int64_t zero_rows = 0;           ///< of both inputs
  std::function<ResultNames()> names;   ///< those that the plan knows
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

/// After a publication: removes the versions that are too many. A failure is a warning.
void retire_old_versions(const JobConfig& config, const RunDirectory& run, JobContext context);

}  // namespace bulksim
