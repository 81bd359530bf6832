#include "job/publication.hpp"

#include <algorithm>
#include <span>

#include "bulksim/job/options.hpp"
#include "bulksim/storage/embedded_index.hpp"
#include "bulksim/storage/manifest.hpp"
#include "bulksim/storage/similarity_file.hpp"
#include "bulksim/storage/term_files.hpp"
#include "bulksim/storage/versions.hpp"
#include "job/block_reduction.hpp"
#include "job/publish_guard.hpp"
#include "job/row_names.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kSampleOf = 100;  // one tile of so many is read back
constexpr double kSecondsToRetire = 60.0;

/// A single file holds its index of tiles itself, and a digest of the index.
void finish_single_file(const RunDirectory& run, const Publication& publication, FileCalls& calls) {
  const std::string path = run.part_path(0);
  const PartLayout& layout = publication.parts.layouts.front();
  const std::string index = encode_embedded_index(publication.digests);
  FileAttributes attributes = attributes_of(publication.plan);
  attributes.emplace_back("tile_index",
                          digest_of(std::as_bytes(std::span<const char>(index))).hex());
  make_writable(calls, path);
  write_attributes(calls, path, publication.plan.grid, layout, attributes);
  if (!layout.has_tiles()) return;
  embed_tile_index(calls, path, index);
  const ResultNames names = publication.names();
  const File file = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  write_names(file, names.queries, layout.names.queries);
  write_names(file, names.items, layout.names.items);
  file.sync();
}

/// Looks at tiles and terms once more, before anybody else does.
void read_back(const Publication& publication, FileCalls& calls) {
  if (publication.config.read_back == ReadBack::kNone) return;
  const TileGrid& grid = publication.plan.grid;
  const std::int64_t stride = publication.config.read_back == ReadBack::kFull ? 1 : kSampleOf;
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < grid.count(); tile += stride)
    tiles.push_back(tile);
  const auto damaged = damaged_tiles(calls, grid, publication.parts, tiles, publication.digests,
                                     publication.threads);
  if (damaged.empty()) return;
  const TileId id = grid.id(damaged.front());
  throw Error(ExitCode::kDataError,
              "tile " + std::to_string(id.row) + "," + std::to_string(id.column) +
                  " reads otherwise than it was written: this storage loses data, nothing was "
                  "published; the same command computes the damaged tiles again");
}

/// What a view shows: no part of a run without a matrix.
std::vector<PartLayout> shown_layouts(const PartSet& parts) {
  return parts.has_matrix() ? parts.layouts : std::vector<PartLayout>();
}

}  // namespace

FileAttributes attributes_of(const Plan& plan) {
  FileAttributes attributes{{"plan", plan.id().hex()},
                            {"queries_content", plan.queries.hex()},
                            {"items_content", plan.items.hex()},
                            {"metric", metric_name(plan.arithmetic.metric)},
                            {"arithmetic_version", std::int64_t{kArithmeticVersion}},
                            {"grid_bits", std::int64_t{plan.arithmetic.bits}},
                            {"error_bound", plan.error_bound},
                            {"zero_rows", plan.zero_rows == ZeroRows::kNan ? "nan" : "zero"},
                            {"nan_cells", plan.nan_cells}};
  if (plan.vocabulary) attributes.emplace_back("vocabulary", plan.vocabulary->hex());
  if (plan.query_ids) attributes.emplace_back("query_ids_digest", plan.query_ids->digest.hex());
  if (plan.item_ids) attributes.emplace_back("item_ids_digest", plan.item_ids->digest.hex());
  return result_attributes(plan.grid, attributes);
}

PartSet make_layout(const Plan& plan, const RunDirectory& run) {
  PartSet layout;
  if (run.form() == OutputForm::kSingleFile) {
    layout.layouts.push_back(plan_part(plan.grid, {0, plan.grid.columns()}, "similarity",
                                       name_widths(plan), plan.value_type));
  } else {
    for (const RowRange& columns : plan.parts) {
      layout.layouts.push_back(plan_part(plan.grid, columns, "tiles", {}, plan.value_type));
    }
  }
  for (std::size_t part = 0; part < layout.layouts.size(); ++part) {
    if (plan.has_matrix()) layout.paths.push_back(run.part_path(part));
    if (plan.softmax_scale) layout.terms.push_back(inside(run.staging(), term_file_name(part)));
  }
  return layout;
}

std::string existing_folder(FileCalls& calls, std::string path) {
  while (!exists(calls, path) && path != parent_of(path))
    path = parent_of(path);
  return path;
}

std::int64_t output_bytes(const TileGrid& grid, const PartSet& parts) {
  std::int64_t bytes = 0;
  for (const PartLayout& part : parts.layouts) {
    if (parts.has_matrix()) bytes += part.file_bytes;
    if (parts.has_terms()) bytes += term_file_bytes(grid, part);
  }
  return bytes;
}

std::int64_t result_bytes(const Plan& plan, const PartSet& parts, OutputForm form, FileCalls& calls,
                          const std::string& scratch) {
  const std::int64_t tiles = output_bytes(plan.grid, parts);
  if (form == OutputForm::kSingleFile) return tiles;
  const std::vector<Digest> digests(static_cast<std::size_t>(plan.grid.count()));
  const BlockMap blocks = empty_block_map(plan);
  return tiles + std::ssize(plan.to_json()) + std::ssize(encode_tile_index(digests)) +
         similarity_file_bytes(calls, scratch, plan.grid, shown_layouts(parts), attributes_of(plan),
                               name_widths(plan),
                               plan.softmax_scale || plan.selection ? &blocks : nullptr);
}

void check_output_size(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       JobContext context) {
  const std::int64_t bytes = output_bytes(plan.grid, parts);
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

std::string publish(RunDirectory& run, const Publication& publication, FileCalls& calls) {
  publication.still_ours();
  const Plan& plan = publication.plan;
  const PartSet& parts = publication.parts;
  read_back(publication, calls);
  check_guard(publication, run, calls);
  if (run.form() == OutputForm::kSingleFile) {
    finish_single_file(run, publication, calls);
    return run.publish("", publication.still_ours);
  }
  Manifest manifest{.plan = plan.id().hex(), .files = {}};
  std::vector<std::string> names;
  for (std::size_t part = 0; part < parts.paths.size(); ++part) {
    names.push_back(run.part_name(part));
    const PartLayout& layout = parts.layouts[part];
    manifest.files.push_back(describe_file(calls, run.staging(), names.back(),
                                           layout.has_tiles() ? layout.data_offset : -1));
  }
  for (std::size_t part = 0; part < parts.terms.size(); ++part)
    manifest.files.push_back(
        describe_file(calls, run.staging(), term_file_name(part), kTermHeadBytes));
  write_similarity_file(calls, run.staging() + "/similarity.h5", plan.grid, shown_layouts(parts),
                        names, attributes_of(plan), publication.names(), publication.blocks);
  replace_file(calls, run.staging() + "/tiles.idx", encode_tile_index(publication.digests));
  replace_file(calls, run.staging() + "/report.json", publication.report_json);
  for (const char* name : {"PLAN.json", "similarity.h5", "tiles.idx"}) {
    manifest.files.push_back(describe_file(calls, run.staging(), name));
  }
  return run.publish(manifest.to_json(), publication.still_ours);
}

void retire_old_versions(const JobConfig& config, const RunDirectory& run, JobContext context) {
  if (run.form() != OutputForm::kVersions) return;
  Removal removal;
  try {
    removal = retire_versions(context.calls, run.output(), config.keep, kSecondsToRetire);
  } catch (const Error& error) {
    removal.failures.emplace_back(error.what());
  }
  for (const std::string& name : removal.removed)
    context.log.info("retired", "removed the old version " + name);
  for (const std::string& failure : removal.failures) {
    context.log.warning("not_retired", "an old version could not be removed: " + failure);
  }
}

}  // namespace bulksim
