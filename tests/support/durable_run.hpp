#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/journal.hpp"
#include "storage/run/lease.hpp"
#include "storage/run/manifest.hpp"
#include "storage/run/recovery.hpp"
#include "storage/run/run_directory.hpp"
#include "support/storage_support.hpp"

namespace bulksim::test {

inline constexpr Digest kDurablePlan{0x6f1c2a9b00000000, 1};

/// A whole run in one thread, from the lease to the publication, with the steps of a job: its file
/// calls have the same order every time. The tiles are those of the test matrix.
struct DurableRun {
  FileCalls& calls;
  TileGrid grid;
  std::int64_t tiles_of_a_group;  ///< tiles that are synced together
  std::int64_t recovered = 0;     ///< tiles that an earlier attempt had done

  void compute_version(const std::string& output) {
    const std::int64_t half = grid.columns() / 2;
    compute(output, {{0, half}, {half, grid.columns()}}, "tiles");
  }
  void compute_file(const std::string& output) {
    compute(output, {{0, grid.columns()}}, "similarity");
  }

  void compute(const std::string& output, const std::vector<RowRange>& columns,
               const std::string& dataset) {
    RunDirectory run(calls, output, kDurablePlan);
    if (run.published("{}\n")) return;
    run.claim();
    LeaseOptions options;
    // a lease torn by a power failure is unreadable, so that its holder must expire
    options.expiry_seconds = 0.01;
    options.poll_seconds = 0.002;
    const auto lease = Lease::take(calls, run.lease_path(), options);
    const auto still_ours = [&] { lease->check(); };
    if (run.finish_publication("{}\n")) return;
    if (run.prepare("{}\n") == Staged::kFinalized) {
      run.publish_finalized(still_ours);
      return;
    }
    PartSet parts;
    for (std::size_t part = 0; part < columns.size(); ++part) {
      parts.paths.push_back(run.part_path(part));
      parts.layouts.push_back(plan_part(grid, columns[part], dataset));
    }
    const std::vector<Digest> digests = compute_tiles(run, parts);
    run.publish(describe(run, parts, digests), still_ours);
  }

  std::vector<Digest> compute_tiles(RunDirectory& run, const PartSet& parts) {
    Recovery recovery = recover(calls, kDurablePlan, grid, parts, run.journals(), 1);
    recovered = recovery.done_count();
    for (const std::size_t part : recovery.missing_parts) {
      remove_tree(calls, parts.paths[part]);
      preallocate_parts(calls, grid, {parts.paths[part]}, {parts.layouts[part]});
    }
    for (const std::string& path : parts.paths)
      make_writable(calls, path);
    const int attempt = run.begin_attempt();
    Journal journal(calls, run.journal_path(attempt, 0), {kDurablePlan, attempt, 0});
    for (const std::int64_t tile : recovery.dropped)
      journal.tile_dropped(tile);
    journal.synced(0);
    TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kReadWrite);
    const auto sync = [&] {
      const std::int64_t records = journal.records();
      files.sync();
      journal.synced(records);
    };
    std::int64_t waiting = 0;
    for (const std::int64_t tile : recovery.to_do()) {
      const auto values = tile_values(grid, grid.id(tile));
      Digest& digest = recovery.digests[static_cast<std::size_t>(tile)];
      digest = digest_of(bytes_of(values));
      files.write(grid.id(tile), 0, values);
      journal.tile_done(tile, digest);
      if (++waiting % tiles_of_a_group == 0) sync();
    }
    sync();
    return recovery.digests;
  }

  std::string describe(const RunDirectory& run, const PartSet& parts,
                       const std::vector<Digest>& digests) {
    const FileAttributes attributes = result_attributes(grid, {{"plan", kDurablePlan.hex()}});
    if (run.form() == OutputForm::kSingleFile) {
      write_attributes(calls, run.part_path(0), grid, parts.layouts[0], attributes);
      return "";
    }
    const std::vector<std::string> names{run.part_name(0), run.part_name(1)};
    write_similarity_file(calls, run.staging() + "/similarity.h5", grid, parts.layouts, names,
                          attributes);
    replace_file(calls, run.staging() + "/tiles.idx", encode_tile_index(digests));
    Manifest manifest{.plan = kDurablePlan.hex(), .files = {}};
    for (const std::string& name :
         {names[0], names[1], std::string("similarity.h5"), std::string("tiles.idx")}) {
      manifest.files.push_back(describe_file(calls, run.staging(), name));
    }
    return manifest.to_json();
  }
};

}  // namespace bulksim::test
