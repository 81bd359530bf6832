#include "job/pair_work.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bulksim/job/agreement.hpp"
#include "bulksim/storage/pair_runs.hpp"
#include "job/formatted.hpp"
#include "job/run_setup.hpp"

namespace bulksim {

namespace {

/// Tiles of the plan that have no run yet, and how many have one.
void sort_tiles(const Plan& plan, const PairRuns& runs, PairWorkLeft& left) {
  for (const std::int64_t tile : tiles_of(plan)) {
    if (runs.has(tile)) {
      ++left.resumed;
    } else {
      left.to_do.push_back(tile);
    }
  }
}

PairWorkLeft decide(const JobConfig& config, const Plan& plan, RunDirectory& run,
                    JobContext context) {
  PairWorkLeft left;
  if (!take_up_staging(config, plan, run, context, left)) return left;
  make_directories(context.calls, pair_runs_folder(run), 0700);
  const auto files = pair_run_files(context.calls, pair_runs_folder(run));
  sort_tiles(plan, PairRuns(context.calls, files, plan.id(), plan.grid), left);
  for (const std::string& path : files) {
    const std::int64_t number = std::atoll(path.c_str() + path.rfind('-') + 1);
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

std::string pair_runs_folder(const RunDirectory& run) {
  return run.staging() + "/parts";
}

std::string pair_run_file(const RunDirectory& run, std::int64_t number) {
  return pair_runs_folder(run) + formatted("/part-%05lld.pairs", static_cast<long long>(number));
}

PairWorkLeft take_up_pair_work(const JobConfig& config, const Plan& plan, RunDirectory& run,
                               JobContext context) {
  Communicator& comm = context.mpi.world();
  PairWorkLeft left;
  together(comm, [&] {
    if (comm.rank() == 0) left = decide(config, plan, run, context);
  });
  share(left, comm);
  std::array<std::int64_t, 1> first_file{left.first_file};  // the other ranks have 0
  comm.all_reduce_max(first_file);
  left.first_file = first_file[0];
  return left;
}

}  // namespace bulksim
