#include "job/plan/output_layout.hpp"

#include <algorithm>

#include "blocks/block_sums.hpp"
#include "blocks/fine_grid.hpp"
#include "core/text/format_text.hpp"
#include "job/plan/filter_attributes.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

std::vector<PartLayout> shown_layouts(const PartSet& parts) {
  return parts.has_matrix() ? parts.layouts : std::vector<PartLayout>();
}

FileAttributes attributes_of(const Plan& plan) {
  FileAttributes attributes{{"plan", plan.id().hex()},
                            {"queries_content", plan.queries.hex()},
                            {"items_content", plan.items.hex()},
                            {"metric", metric_name(plan.arithmetic.metric)},
                            {"arithmetic_version", std::int64_t{plan.arithmetic_version}},
                            {"fraction_bits", std::int64_t{plan.arithmetic.bits}},
                            {"error_bound", plan.error_bound},
                            {"zero_rows", plan.zero_rows == ZeroRows::kNan ? "nan" : "zero"},
                            {"nan_cells", plan.nan_cells}};
  if (plan.filter) {
    const FileAttributes filter = attributes_of(*plan.filter, plan.grid.shape());
    attributes.insert(attributes.end(), filter.begin(), filter.end());
  }
  if (plan.vocabulary) attributes.emplace_back("vocabulary", plan.vocabulary->hex());
  if (plan.query_ids) attributes.emplace_back("query_ids_digest", plan.query_ids->digest.hex());
  if (plan.item_ids) attributes.emplace_back("item_ids_digest", plan.item_ids->digest.hex());
  return result_attributes(plan.grid, attributes);
}

PartSet make_layout(const Plan& plan, const RunDirectory& run) {
  PartSet layout;
  if (run.form() == OutputForm::kSingleFile) {
    layout.layouts.push_back(plan_part(plan.grid, {0, plan.grid.columns()}, "similarity",
                                       id_sizes(plan), plan.value_type));
  } else {
    for (const RowRange& columns : plan.parts) {
      layout.layouts.push_back(plan_part(plan.grid, columns, "tiles", {}, plan.value_type));
    }
  }
  for (std::size_t part = 0; part < layout.layouts.size(); ++part) {
    if (plan.has_matrix()) layout.paths.push_back(run.part_path(part));
    if (plan.softmax_scale)
      layout.partials.push_back(inside(run.staging(), partial_file_name(part)));
  }
  return layout;
}

std::string existing_folder(FileCalls& calls, std::string path) {
  while (!leads_to_directory(calls, path) && path != parent_of(path))
    path = parent_of(path);
  return path;
}

std::int64_t output_bytes(const TileGrid& grid, const PartSet& parts) {
  std::int64_t bytes = 0;
  for (const PartLayout& part : parts.layouts) {
    if (parts.has_matrix()) bytes += part.file_bytes;
    if (parts.has_partials()) bytes += partial_file_bytes(grid, part);
  }
  return bytes;
}

std::int64_t result_bytes(const Plan& plan, const PartSet& parts, OutputForm form, FileCalls& calls,
                          const std::string& folder) {
  const std::int64_t tiles = output_bytes(plan.grid, parts);
  if (form == OutputForm::kSingleFile) return tiles;
  const std::vector<Digest> digests(plan.grid.count());
  const BlockMap blocks = empty_block_map(plan);
  return tiles + std::ssize(plan.to_json()) + std::ssize(encode_tile_index(digests)) +
         similarity_file_bytes(calls, folder, plan.grid, shown_layouts(parts), attributes_of(plan),
                               id_sizes(plan),
                               plan.softmax_scale || plan.selection ? &blocks : nullptr);
}

void check_output_size(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       JobContext context) {
  const bool has_view = output_form(config.output) == OutputForm::kVersions;
  const std::int64_t bytes = output_bytes(plan.grid, parts) + (has_view ? id_bytes(plan) : 0);
  std::int64_t there = 0;
  for (std::size_t part = 0; part < parts.paths.size(); ++part) {
    if (exists(context.calls, parts.paths[part])) there += parts.layouts[part].file_bytes;
  }
  const std::int64_t free =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  context.log.info("output",
                   "will write " + bytes_text(bytes) + " to '" + config.output + "' (" +
                       bytes_text(std::max<std::int64_t>(free, 0)) + " free there)",
                   {{"bytes", bytes}, {"free", free}});
  const std::int64_t limit = config.max_output.value_or(free < 0 ? bytes : free / 2 + there);
  if (bytes <= limit) return;
  const std::int64_t row_bytes = bytes_of(plan.value_type) * plan.grid.shape().items;
  throw Error(ExitCode::kIoError,
              "the matrix takes " + bytes_text(bytes) + " and " +
                  (config.max_output ? "--max-output allows " : "half of the free space is ") +
                  bytes_text(limit) + "; raise --max-output, or compute fewer queries at a time (" +
                  std::to_string(limit / std::max<std::int64_t>(row_bytes, 1)) + " would fit)");
}

BlockMap empty_block_map(const Plan& plan) {
  const FineGrid fine(plan.grid);
  BlockMap map;
  map.softmax_scale = plan.softmax_scale.value_or(0.0);
  map.tile = plan.grid.tile();
  map.rows = fine.rows();
  map.columns = fine.columns();
  map.coarse_rows = divide_up(map.rows, kCoarseBlocks);
  map.coarse_columns = divide_up(map.columns, kCoarseBlocks);
  const std::size_t blocks = map.rows * map.columns;
  map.fine.resize(blocks);
  map.coarse.resize(map.coarse_rows * map.coarse_columns);
  map.share.resize(blocks);
  map.live_rows.resize(map.rows);
  map.mask.resize(blocks, 1);
  return map;
}

std::int64_t id_bytes(const Plan& plan) {
  const IdSizes sizes = id_sizes(plan);
  return sizes.queries.file_bytes() + sizes.items.file_bytes();
}

IdSizes id_sizes(const Plan& plan) {
  const auto size = [](const std::optional<IdInfo>& ids, std::int64_t rows) {
    return ids ? IdSize{rows, ids->bytes} : IdSize{};
  };
  return {size(plan.query_ids, plan.grid.shape().queries),
          size(plan.item_ids, plan.grid.shape().items)};
}

}  // namespace bulksim
