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

/// Part files of a run, and where their tiles lie.
PartSet make_layout(const Plan& plan, const RunDirectory& run);

/// Folder on whose file system the output goes: the nearest one that exists.
std::string existing_folder(FileCalls& calls, std::string path);

/// Bytes of all files of tiles and of partials.
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

/// What a view shows: no part of a run without a matrix.
std::vector<PartLayout> shown_layouts(const PartSet& parts);

/// A map of the size that a plan asks for, without numbers.
BlockMap empty_block_map(const Plan& plan);

/// The room that the names of a plan take.
IdWidths id_widths(const Plan& plan);

}  // namespace bulksim
