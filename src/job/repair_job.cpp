#include "job/repair_job.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include "comm/collective_error.hpp"
#include "core/run/stop_request.hpp"
#include "core/text/json.hpp"
#include "job/plan/resources.hpp"
#include "job/run/resume.hpp"
#include "job/run/runs.hpp"
#include "job/verify/verification.hpp"
#include "storage/run/journal.hpp"

namespace bulksim {

namespace {

/// What rank 0 found in the version to repair.
struct DamagedVersion {
  std::string folder;
  std::string plan_json;
  ResultInfo info;
  std::set<std::int64_t> bad_tiles;
  std::set<std::size_t> bad_parts;  ///< that cannot be shared as they are
  bool whole = false;
};

void sort_damage(const Verdict& verdict, DamagedVersion& damaged) {
  const ResultInfo& info = damaged.info;
  for (const Damage& damage : verdict.damage) {
    if (damage.tile) damaged.bad_tiles.insert(info.grid.number(*damage.tile));
    const auto part = std::find(info.names.begin(), info.names.end(), damage.file);
    if (part == info.names.end()) continue;
    damaged.bad_parts.insert(static_cast<std::size_t>(part - info.names.begin()));
  }
  for (std::int64_t tile = 0; tile < info.grid.count(); ++tile) {
    const std::size_t part = part_of(info.parts.layouts, info.grid.id(tile).column);
    if (info.digests.empty() || info.readable[part] == 0) damaged.bad_tiles.insert(tile);
  }
}

DamagedVersion examine(FileCalls& calls, const std::string& output, int threads) {
  DamagedVersion damaged;
  damaged.folder = version_folder(calls, output);
  if (damaged.folder.empty()) {
    throw Error(ExitCode::kUsage, "'" + output +
                                      "' is a single file, and repair applies only to folders of "
                                      "versions: compute it again with --recompute");
  }
  Verdict verdict;
  damaged.info = verify_version(calls, damaged.folder, verdict);
  if (!damaged.info.plan) {
    throw Error(ExitCode::kDataError, "'" + damaged.folder +
                                          "/PLAN.json' is damaged, so nothing can be kept: compute "
                                          "it again with --recompute");
  }
  if (damaged.info.parts.has_matrix()) verify_tiles(calls, damaged.info, threads, verdict);
  if (damaged.info.parts.has_partials()) {
    verify_blocks(calls, damaged.info, damaged.folder, verdict);
  }
  damaged.plan_json = read_text(calls, damaged.folder + "/PLAN.json");
  damaged.whole = verdict.damage.empty();
  if (!damaged.whole) require_arithmetic(damaged.folder, damaged.info.arithmetic_version);
  sort_damage(verdict, damaged);
  return damaged;
}

/// The report of the version; throws Error (66) when it does not name the inputs.
JsonReader report_of(FileCalls& calls, const std::string& folder) {
  const std::string path = folder + "/report.json";
  if (exists(calls, path)) {
    JsonReader report = JsonReader::parse_or_empty(read_text(calls, path));
    if (report.find_text("items/path")) return report;
  }
  throw Error(ExitCode::kNoInput, "'" + path +
                                      "' does not name the inputs: give them, as in bulksim repair "
                                      "OUT ITEMS QUERIES");
}

/// A path in a report, from where the run was started.
std::string path_in(const JsonReader& report, const std::string& key) {
  const std::string path = report.find_text(key).value_or("");
  const std::string folder = report.find_text("folder").value_or("");
  const bool is_relative = !path.empty() && path.front() != '/' && !folder.empty();
  return is_relative ? inside(folder, path) : path;
}

/// Sets the inputs to those of the version, and how they were read.
void set_inputs(const JsonReader& report, JobConfig& config) {
  config.items = path_in(report, "items/path");
  config.item_ids = path_in(report, "items/ids_path");
  if (!report.find_boolean("self_join").value_or(false)) {
    config.queries = path_in(report, "queries/path");
    config.query_ids = path_in(report, "queries/ids_path");
  }
  if (config.vocabulary.empty()) config.vocabulary = path_in(report, "vocabulary_path");
  if (report.find_text("keys") == "index") config.keys = VectorKeys::kIndices;
}

/// Copies the good tiles of a part into a new file.
void copy_tiles(FileCalls& calls, const DamagedVersion& damaged, std::size_t part,
                const std::string& path) {
  const ResultInfo& info = damaged.info;
  const PartLayout& layout = info.parts.layouts[part];
  preallocate_parts(calls, info.grid, {path}, {layout});
  if (info.readable[part] == 0 || !layout.has_tiles()) return;
  const File from = File::open(calls, info.parts.paths[part], O_RDONLY | O_NOFOLLOW);
  const File to = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  std::vector<std::byte> tile(layout.tile_bytes);
  for (std::int64_t column = layout.tile_columns.begin; column < layout.tile_columns.end;
       ++column) {
    for (std::int64_t row = 0; row < info.grid.rows(); ++row) {
      kOnlySignals.check();
      const TileId id{row, column};
      if (damaged.bad_tiles.contains(info.grid.number(id))) continue;
      from.read(tile, layout.offset(info.grid, id));
      to.write(tile, layout.offset(info.grid, id));
    }
  }
  to.sync();
}

/// Fills a new staging folder with all intact tiles, and records them in a journal.
void seed_staging(FileCalls& calls, const DamagedVersion& damaged, RunDirectory& run,
                  const Plan& plan) {
  const ResultInfo& info = damaged.info;
  for (std::size_t part = 0; part < info.parts.paths.size(); ++part) {
    const std::string path = run.part_path(part);
    const bool shared = !damaged.bad_parts.contains(part) &&
                        calls.link(info.parts.paths[part].c_str(), path.c_str()) == 0;
    if (!shared && !exists(calls, path)) copy_tiles(calls, damaged, part, path);
  }
  // sections are trusted by their digests; without the file, its part is computed again
  for (std::size_t part = 0; part < info.parts.partials.size(); ++part) {
    calls.link(info.parts.partials[part].c_str(),
               inside(run.staging(), partial_file_name(part)).c_str());
  }
  const int attempt = run.begin_attempt();
  Journal journal(calls, run.journal_path(attempt, 0), {plan.id(), attempt, 0});
  for (std::int64_t tile = 0; tile < info.grid.count(); ++tile) {
    if (damaged.bad_tiles.contains(tile)) continue;
    journal.tile_done(tile, info.digests[tile]);
  }
  journal.synced(journal.records());
}

/// The configuration that makes the plan of the version again, at every rank.
JobConfig repair_config(const JobConfig& config, const DamagedVersion& damaged,
                        JobContext context) {
  Communicator& comm = context.mpi.world();
  JobConfig repair = config;
  run_collectively(comm, [&] {
    if (comm.rank() != 0 || !config.items.empty()) return;
    set_inputs(report_of(context.calls, damaged.folder), repair);
  });
  for (std::string* path :
       {&repair.items, &repair.queries, &repair.item_ids, &repair.query_ids, &repair.vocabulary}) {
    *path = broadcast_text(comm, *path);
  }
  repair.keys =
      broadcast_text(comm, repair.keys == VectorKeys::kIndices ? "index" : "terms") == "index"
          ? VectorKeys::kIndices
          : VectorKeys::kTerms;
  const Plan plan = Plan::from_json(broadcast_text(comm, damaged.plan_json));
  repair.tile = plan.grid.tile();
  repair.parts = std::ssize(plan.parts);
  repair.dimensions = Dimensions::kPad;
  repair.zero_rows = plan.zero_rows;
  repair.metric = plan.arithmetic.metric;
  repair.filter = plan.filter;
  repair.value_type = plan.value_type;
  repair.mode = plan.mode;
  repair.block_sums = plan.softmax_scale ? BlockSumsWanted::kOn : BlockSumsWanted::kOff;
  repair.softmax_scale = plan.softmax_scale.value_or(repair.softmax_scale);
  if (plan.selection) {
    repair.select = plan.selection->blocks;
    repair.stride = plan.selection->stride;
    repair.softmax_scale = plan.selection->softmax_scale;
    repair.block_sums = BlockSumsWanted::kAuto;
  }
  repair.repeat = Repeat::kRecompute;
  return repair;
}

}  // namespace

std::string run_repair(const JobConfig& config, JobContext context) {
  Communicator& comm = context.mpi.world();
  const int threads = survey_resources(config.threads, config.memory, comm).threads;
  DamagedVersion damaged;
  run_collectively(comm, [&] {
    if (comm.rank() == 0) damaged = examine(context.calls, config.output, threads);
  });
  if (broadcast_text(comm, damaged.whole ? "whole" : "damaged") == "whole") {
    context.log.info("whole", "'" + config.output + "' is intact: nothing to repair");
    return config.output + "/CURRENT/similarity.h5";
  }
  context.log.info("repair",
                   std::to_string(damaged.bad_tiles.size()) + " tiles are computed again");
  const JobConfig repair = repair_config(config, damaged, context);
  const SeedStaging seed = [&](RunDirectory& run, const Plan& plan, Staged staged) {
    if (plan.to_json() != damaged.plan_json) {
      throw Error(ExitCode::kDataError, "'" + repair.items + "' and '" + repair.query_path() +
                                            "' are not the inputs from which '" + damaged.folder +
                                            "' was computed");
    }
    const bool has_tiles = !plan.filter;
    if (has_tiles && staged == Staged::kNothing) seed_staging(context.calls, damaged, run, plan);
  };
  return run_compute_seeded(repair, seed, context);
}

}  // namespace bulksim
