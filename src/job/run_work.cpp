#include "job/run_work.hpp"

#include <cstring>
#include <ctime>
#include <span>

#include "bulksim/job/agreement.hpp"
#include "bulksim/storage/journal.hpp"
#include "bulksim/storage/term_files.hpp"
#include "bulksim/storage/versions.hpp"
#include "job/publication.hpp"

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

void lay_out_missing(const Plan& plan, const PartSet& parts, const Recovery& recovery,
                     const JobConfig& config, JobContext context) {
  PartSet missing;
  for (const std::size_t part : recovery.missing_parts) {
    if (parts.has_matrix()) missing.paths.push_back(parts.paths[part]);
    if (parts.has_terms()) missing.terms.push_back(parts.terms[part]);
    missing.layouts.push_back(parts.layouts[part]);
  }
  for (const auto& paths : {missing.paths, missing.terms}) {
    for (const std::string& path : paths)
      remove_tree(context.calls, path);
  }
  if (parts.has_terms()) {
    lay_out_terms(context.calls, plan.grid, missing.terms, missing.layouts);
  }
  if (!parts.has_matrix()) return;
  if (lay_out_parts(context.calls, plan.grid, missing.paths, missing.layouts) ==
      Reservation::kNotSupported) {
    context.log.warning("no_reservation",
                        "the file system of '" + config.output +
                            "' cannot reserve space, so a full disk is only seen while writing");
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
    if (parts.has_terms()) make_writable(calls, parts.terms[part]);
  }
}

/// Tiles that earlier journals name and that are not done: the new attempt says so first.
void note_dropped(const Plan& plan, const RunDirectory& run, int attempt, const Recovery& recovery,
                  FileCalls& calls) {
  if (recovery.dropped.empty()) return;
  Journal journal(calls, run.dropped_path(attempt), {plan.id(), attempt, 0});
  for (const std::int64_t tile : recovery.dropped)
    journal.tile_dropped(tile);
  journal.synced(0);
}

void tell(const RunWork& work, std::int64_t tiles, Log& log) {
  if (work.resumed > 0) {
    log.info("resumed",
             "attempt " + std::to_string(work.attempt) + ": " + std::to_string(work.resumed) +
                 " of " + std::to_string(tiles) + " tiles are done already",
             {{"resumed", work.resumed}, {"rehashed", work.rehashed}, {"tiles", tiles}});
  }
  if (work.damaged > 0) {
    log.warning("damaged",
                std::to_string(work.damaged) +
                    " tiles of an earlier attempt are not as they were written; they are computed "
                    "again",
                {{"tiles", work.damaged}});
  }
}

/// Rank 0's part of `take_up_work`.
RunWork decide(const JobConfig& config, const Plan& plan, const PartSet& parts, RunDirectory& run,
               int threads, const SeedStaging& seed, JobContext context) {
  RunWork work;
  if (config.repeat == Repeat::kReuse) {
    work.result = run.finish_publication(plan.to_json()).value_or("");
    if (!work.result.empty()) return work;
  }
  const Staged staged = run.prepare(plan.to_json());
  remove_stale_work(config, run, context);
  work.sealed = staged == Staged::kSealed;
  if (work.sealed) return work;
  if (seed) seed(run, plan, staged);
  Recovery recovery = recover(context.calls, plan.id(), plan.grid, parts, run.journals(), threads);
  lay_out_missing(plan, parts, recovery, config, context);
  make_parts_writable(plan, parts, recovery, context.calls);
  work.attempt = run.begin_attempt();
  note_dropped(plan, run, work.attempt, recovery, context.calls);
  work.to_do = recovery.to_do();
  work.resumed = recovery.done_count();
  work.rehashed = recovery.rehashed;
  work.damaged = recovery.damaged;
  work.digests = std::move(recovery.digests);
  tell(work, plan.grid.count(), context.log);
  return work;
}

/// What the other ranks need to know of rank 0's decision.
void share(RunWork& work, Communicator& comm) {
  work.result = broadcast_text(comm, work.result);
  std::vector<std::int64_t> numbers{work.sealed ? 1 : 0, work.attempt, work.resumed};
  numbers.insert(numbers.end(), work.to_do.begin(), work.to_do.end());
  const auto view = bytes_of(numbers);
  std::vector<std::byte> bytes(view.begin(), view.end());
  comm.broadcast(bytes);
  numbers.resize(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  work.sealed = numbers[0] == 1;
  work.attempt = static_cast<int>(numbers[1]);
  work.resumed = numbers[2];
  work.to_do.assign(numbers.begin() + 3, numbers.end());
}

}  // namespace

std::string find_published(const JobConfig& config, const Plan& plan, const RunDirectory& run,
                           Communicator& comm) {
  if (config.repeat == Repeat::kRecompute) return "";
  std::string result;
  together(comm, [&] {
    if (comm.rank() == 0) result = run.published(plan.to_json()).value_or("");
  });
  return broadcast_text(comm, result);
}

std::unique_ptr<Lease> take_output(const JobConfig& config, RunDirectory& run, JobContext context) {
  std::unique_ptr<Lease> lease;
  together(context.mpi.world(), [&] {
    if (context.mpi.world().rank() != 0) return;
    run.claim();
    if (config.durability == Durability::kOff) return;
    lease = Lease::take(context.calls, run.lease_path(), this_machine());
    lease->keep();
  });
  return lease;
}

RunWork take_up_work(const JobConfig& config, const Plan& plan, const PartSet& parts,
                     RunDirectory& run, int threads, const SeedStaging& seed, JobContext context) {
  Communicator& comm = context.mpi.world();
  RunWork work;
  together(comm, [&] {
    if (comm.rank() == 0) work = decide(config, plan, parts, run, threads, seed, context);
  });
  share(work, comm);
  return work;
}

}  // namespace bulksim
