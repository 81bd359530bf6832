#include "job/publish/publication.hpp"

#include <algorithm>
#include <span>

#include "job/plan/output_layout.hpp"
#include "job/publish/change_guard.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/parts/tile_inspection.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/manifest.hpp"
#include "storage/run/recovery.hpp"

namespace bulksim {

namespace {

/// A single-file result contains its index of tiles and a digest of the index.
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
  const ResultIds ids = publication.ids();
  const File file = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  write_ids(file, ids.queries, layout.ids.queries);
  write_ids(file, ids.items, layout.ids.items);
  file.sync();
}

/// Reads tiles and partials back before they are published.
void read_back(const Publication& publication, FileCalls& calls) {
  if (publication.config.read_back == ReadBack::kNone) return;
  const TileGrid& grid = publication.plan.grid;
  const std::int64_t stride = publication.config.read_back == ReadBack::kFull ? 1 : kTilesPerSample;
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < grid.count(); tile += stride)
    tiles.push_back(tile);
  const auto damaged = damaged_tiles(calls, grid, publication.parts, tiles, publication.digests,
                                     publication.threads);
  if (damaged.empty()) return;
  const TileId id = grid.id(damaged.front());
  throw Error(ExitCode::kDataError,
              "tile " + std::to_string(id.row) + "," + std::to_string(id.column) +
                  " differs from what was written: this storage loses data; nothing was published, "
                  "and the same command computes the damaged tiles again");
}

}  // namespace

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
  for (std::size_t part = 0; part < parts.partials.size(); ++part)
    manifest.files.push_back(
        describe_file(calls, run.staging(), partial_file_name(part), kPartialHeadBytes));
  write_similarity_file(calls, run.staging() + "/similarity.h5", plan.grid, shown_layouts(parts),
                        names, attributes_of(plan), publication.ids(), publication.blocks);
  replace_file(calls, run.staging() + "/tiles.idx", encode_tile_index(publication.digests));
  replace_file(calls, run.staging() + "/report.json", publication.report_json);
  for (const char* name : {"PLAN.json", "similarity.h5", "tiles.idx"}) {
    manifest.files.push_back(describe_file(calls, run.staging(), name));
  }
  return run.publish(manifest.to_json(), publication.still_ours);
}

}  // namespace bulksim
