#include "job/run_work.hpp"

#include "bulksim/job/agreement.hpp"
#include "bulksim/storage/journal.hpp"
#include "bulksim/storage/term_files.hpp"
#include "job/publication.hpp"

namespace bulksim {

namespace {

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
  const auto staged = take_up_staging(config, plan, run, context, work);
  if (!staged) return work;
  if (seed) seed(run, plan, *staged);
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
