#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/job/job_config.hpp"
#include "bulksim/job/plan.hpp"
#include "bulksim/storage/part_file.hpp"
#include "bulksim/storage/run_directory.hpp"

namespace bulksim {

/// Part files of a run, and where their tiles lie.
struct Layout {
  std::vector<std::string> paths;
  std::vector<PartLayout> parts;
};

Layout make_layout(const Plan& plan, const RunDirectory& run);

/// Folder on whose file system the output goes: the nearest one that exists.
std::string existing_folder(FileCalls& calls, std::string path);

/// Bytes of all part files.
std::int64_t output_bytes(const std::vector<PartLayout>& parts);

/// Says what will be written and how much is free; throws Error (74) when it is more than
/// --max-output, and names what would fit.
void check_output_size(const JobConfig& config, const Plan& plan,
                       const std::vector<PartLayout>& parts, JobContext context);

/// Writes what a reader needs beside the tiles (similarity.h5 or attributes, tiles.idx, report,
/// manifest) and publishes the run. Returns the path that a reader opens.
std::string publish(RunDirectory& run, const Plan& plan, const std::vector<PartLayout>& parts,
                    const std::vector<Digest>& digests, const std::string& report_json,
                    FileCalls& calls);

}  // namespace bulksim
