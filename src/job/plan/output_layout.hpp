#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/plan/plan.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/result/block_map.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

/// Part files of a run, and the positions of their tiles.
PartSet make_layout(const Plan& plan, const RunDirectory& run);

/// Folder on whose file system the output goes: the nearest one that exists.
std::string existing_folder(FileCalls& calls, std::string path);

/// Bytes of all files of tiles and of partials.
std::int64_t output_bytes(const TileGrid& grid, const PartSet& parts);

/// Bytes of all files of the result that contain no times: those of the manifest, or the single
/// file. Uses an unnamed file in `folder`.
std::int64_t result_bytes(const Plan& plan, const PartSet& parts, OutputForm form, FileCalls& calls,
                          const std::string& folder);

/// Logs what will be written and how much is free; throws Error (74), with what would fit, when it
/// is more than --max-output. Without --max-output, files of an earlier attempt do not count: their
/// space is already allocated.
void check_output_size(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       JobContext context);

/// The attributes of a result.
FileAttributes attributes_of(const Plan& plan);

/// The parts that a view shows: none without a matrix.
std::vector<PartLayout> shown_layouts(const PartSet& parts);

/// A block map of the size of a plan, without values.
BlockMap empty_block_map(const Plan& plan);

/// Bytes of the ids in an HDF5 file of the result.
std::int64_t id_bytes(const Plan& plan);

/// The sizes of the ids of a plan.
IdSizes id_sizes(const Plan& plan);

}  // namespace bulksim
