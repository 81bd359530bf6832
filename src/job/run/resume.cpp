#include "job/run/resume.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "comm/collective_error.hpp"
#include "core/text/format_text.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/tile_partition.hpp"
#include "job/verify/verification.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/run/journal.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

constexpr double kSecondsOfADay = 86'400;

void remove_stale_work(const JobConfig& config, const RunDirectory& run, JobContext context) {
  const auto age = static_cast<std::int64_t>(config.keep_days * kSecondsOfADay);
  const Removal removal = remove_stale_staging(context.calls, run.work_folder(), run.plan_name(),
                                               std::time(nullptr) - age);
  for (const std::string& name : removal.removed) {
    context.log.info("stale_removed", "removed unfinished work of another plan, '" +
                                          inside(run.work_folder(), name) + "'");
  }
  for (const std::string& failure : removal.failures)
    context.log.warning("stale_kept", failure);
}

/// The path of a published result, or "". Throws Error (65) when it is a damaged file.
std::string intact(const std::optional<std::string>& published, const RunDirectory& run,
                   FileCalls& calls) {
  if (published && run.form() == OutputForm::kSingleFile) require_intact(calls, *published);
  return published.value_or("");
}

/// Creates or resumes the staging folder, at rank 0, and removes unfinished work of other plans
/// that is too old. Returns the contents of the folder when there are tiles to check; otherwise
/// nothing, and `left` has the reason.
std::optional<Staged> resume_staging(const JobConfig& config, const Plan& plan, RunDirectory& run,
                                     JobContext context, WorkLeft& left) {
  if (config.repeat == Repeat::kReuse) {
    left.result = intact(run.finish_publication(plan.to_json()), run, context.calls);
    if (!left.result.empty()) return std::nullopt;
  }
  const Staged staged = run.prepare(plan.to_json());
  remove_stale_work(config, run, context);
  left.finalized = staged == Staged::kFinalized;
  if (left.finalized) return std::nullopt;
  return staged;
}

/// The decision of rank 0, at every rank. A collective.
void share(WorkLeft& left, Communicator& comm) {
  left.result = broadcast_text(comm, left.result);
  std::vector<std::int64_t> numbers{left.finalized ? 1 : 0, left.attempt, left.resumed};
  const auto head = std::ssize(numbers);
  numbers.insert(numbers.end(), left.to_do.begin(), left.to_do.end());
  const auto view = bytes_of(numbers);
  std::vector<std::byte> bytes(view.begin(), view.end());
  comm.broadcast(bytes);
  numbers.resize(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  left.finalized = numbers[0] == 1;
  left.attempt = static_cast<int>(numbers[1]);
  left.resumed = numbers[2];
  left.to_do.assign(numbers.begin() + head, numbers.end());
}

void preallocate_missing(const Plan& plan, const PartSet& parts, const Recovery& recovery,
                         const JobConfig& config, JobContext context) {
  PartSet missing;
  for (const std::size_t part : recovery.missing_parts) {
    if (parts.has_matrix()) missing.paths.push_back(parts.paths[part]);
    if (parts.has_partials()) missing.partials.push_back(parts.partials[part]);
    missing.layouts.push_back(parts.layouts[part]);
  }
  for (const auto& paths : {missing.paths, missing.partials}) {
    for (const std::string& path : paths)
      remove_tree(context.calls, path);
  }
  if (parts.has_partials()) {
    preallocate_partials(context.calls, plan.grid, missing.partials, missing.layouts);
  }
  if (!parts.has_matrix()) return;
  if (preallocate_parts(context.calls, plan.grid, missing.paths, missing.layouts) ==
      Reservation::kNotSupported) {
    context.log.warning("no_reservation",
                        "the file system of '" + config.output +
                            "' cannot reserve space, so a full disk is noticed only while writing");
  }
}

void make_parts_writable(const Plan& plan, const PartSet& parts, const Recovery& recovery,
                         FileCalls& calls) {
  std::vector<char> needed(parts.layouts.size());
  for (const std::int64_t tile : recovery.to_do())
    needed[part_of(parts.layouts, plan.grid.id(tile).column)] = 1;
  for (std::size_t part = 0; part < needed.size(); ++part) {
    if (needed[part] == 0) continue;
    if (parts.has_matrix()) make_writable(calls, parts.paths[part]);
    if (parts.has_partials()) make_writable(calls, parts.partials[part]);
  }
}

/// Tiles in earlier journals that are not done: the new attempt records this first.
void note_dropped(const Plan& plan, const RunDirectory& run, int attempt, const Recovery& recovery,
                  FileCalls& calls) {
  if (recovery.dropped.empty()) return;
  Journal journal(calls, run.dropped_path(attempt), {plan.id(), attempt, 0});
  for (const std::int64_t tile : recovery.dropped)
    journal.tile_dropped(tile);
  journal.synced(0);
}

void log_resumed(const TilesLeft& work, std::int64_t tiles, Log& log) {
  if (work.resumed > 0) {
    log.info("resumed",
             "attempt " + std::to_string(work.attempt) + ": " + std::to_string(work.resumed) +
                 " of " + std::to_string(tiles) + " tiles are done already",
             {{"resumed", work.resumed}, {"rehashed", work.rehashed}, {"tiles", tiles}});
  }
  if (work.damaged > 0) {
    log.warning("damaged",
                std::to_string(work.damaged) +
                    " tiles of an earlier attempt differ from what was written; they are computed "
                    "again",
                {{"tiles", work.damaged}});
  }
}

/// Rank 0's part of `resume_tiles`.
TilesLeft decide_tiles(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       RunDirectory& run, int threads, const SeedStaging& seed,
                       JobContext context) {
  TilesLeft work;
  const auto staged = resume_staging(config, plan, run, context, work);
  if (!staged) return work;
  if (seed) seed(run, plan, *staged);
  Recovery recovery = recover(context.calls, plan.id(), plan.grid, parts, run.journals(), threads);
  preallocate_missing(plan, parts, recovery, config, context);
  make_parts_writable(plan, parts, recovery, context.calls);
  work.attempt = run.begin_attempt();
  note_dropped(plan, run, work.attempt, recovery, context.calls);
  work.to_do = recovery.to_do();
  work.resumed = recovery.done_count();
  work.rehashed = recovery.rehashed;
  work.damaged = recovery.damaged;
  work.digests = std::move(recovery.digests);
  log_resumed(work, plan.grid.count(), context.log);
  return work;
}

}  // namespace

std::string pair_runs_folder(const RunDirectory& run) {
  return run.staging() + "/parts";
}

std::string pair_run_file(const RunDirectory& run, std::int64_t number) {
  return pair_runs_folder(run) + formatted("/part-%05ld.pairs", number);
}

namespace {

/// The tiles of the plan that are in no run, and the number of those in one.
void sort_tiles(const Plan& plan, const PairRuns& runs, PairsLeft& left) {
  for (const std::int64_t tile : tiles_of(plan)) {
    if (runs.has(tile)) {
      ++left.resumed;
    } else {
      left.to_do.push_back(tile);
    }
  }
}

PairsLeft decide_pairs(const JobConfig& config, const Plan& plan, RunDirectory& run,
                       const SeedStaging& seed, JobContext context) {
  PairsLeft left;
  const auto staged = resume_staging(config, plan, run, context, left);
  if (!staged) return left;
  if (seed) seed(run, plan, *staged);
  make_directories(context.calls, pair_runs_folder(run), 0700);
  const auto files = pair_run_files(context.calls, pair_runs_folder(run));
  sort_tiles(plan, PairRuns(context.calls, files, plan.id(), plan.grid), left);
  for (const std::string& path : files) {
    const std::int64_t number = std::strtoll(path.c_str() + path.rfind('-') + 1, nullptr, 10);
    left.first_file = std::max(left.first_file, number + 1);
  }
  left.attempt = run.begin_attempt();
  if (left.resumed > 0) {
    context.log.info("resumed", "attempt " + std::to_string(left.attempt) + ": " +
                                    std::to_string(left.resumed) + " tiles are done already");
  }
  return left;
}

}  // namespace

std::string find_published(const JobConfig& config, const Plan& plan, const RunDirectory& run,
                           FileCalls& calls, Communicator& comm) {
  if (config.repeat == Repeat::kRecompute) return "";
  std::string result;
  run_collectively(comm, [&] {
    if (comm.rank() != 0) return;
    result = intact(run.published(plan.to_json()), run, calls);
  });
  return broadcast_text(comm, result);
}

TakenOutput take_output(const JobConfig& config, RunDirectory& run, JobContext context) {
  TakenOutput output;
  run_collectively(context.mpi.world(), [&] {
    if (context.mpi.world().rank() != 0) return;
    output.claim = run.claim();
    if (config.durability == Durability::kOff) return;
    output.lease =
        Lease::take(context.calls, run.lease_path(), lease_options(context.log, context.stop));
    output.lease->keep();
  });
  return output;
}

TilesLeft resume_tiles(const JobConfig& config, const Plan& plan, const PartSet& parts,
                       RunDirectory& run, int threads, const SeedStaging& seed,
                       JobContext context) {
  Communicator& comm = context.mpi.world();
  TilesLeft work;
  run_collectively(comm, [&] {
    if (comm.rank() == 0) work = decide_tiles(config, plan, parts, run, threads, seed, context);
  });
  share(work, comm);
  return work;
}

PairsLeft resume_pairs(const JobConfig& config, const Plan& plan, RunDirectory& run,
                       const SeedStaging& seed, JobContext context) {
  Communicator& comm = context.mpi.world();
  PairsLeft left;
  run_collectively(comm, [&] {
    if (comm.rank() == 0) left = decide_pairs(config, plan, run, seed, context);
  });
  share(left, comm);
  std::array<std::int64_t, 1> first_file{left.first_file};  // the other ranks have 0
  comm.all_reduce_max(first_file);
  left.first_file = first_file[0];
  return left;
}

}  // namespace bulksim
