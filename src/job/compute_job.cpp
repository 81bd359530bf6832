#include "bulksim/job/compute_job.hpp"

#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bulksim/core/phase_timer.hpp"
#include "bulksim/job/agreement.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "bulksim/storage/unsynced_calls.hpp"
#include "job/block_reduction.hpp"
#include "job/metrics.hpp"
#include "job/pairs_run.hpp"
#include "job/publication.hpp"
#include "job/row_names.hpp"
#include "job/run_report.hpp"
#include "job/run_setup.hpp"
#include "job/run_steps.hpp"
#include "job/run_work.hpp"
#include "job/tile_work.hpp"
#include "job/trial.hpp"

namespace bulksim {

namespace {

/// A trial costs a second: below this, a run does not take many more.
constexpr std::int64_t kWorthATrial = std::int64_t{8} << 30;

void announce_time(const JobConfig& config, const RunSetup& setup, const PartSet& parts,
                   JobContext context) {
  if (output_bytes(setup.plan.grid, parts) < kWorthATrial) return;
  const Trial trial = run_trial(config, setup, context);
  context.log.info("expected_time", "this will take about " + duration_text(trial.seconds),
                   {{"seconds", trial.seconds}});
}

/// Adds the digests of the tiles that all ranks have computed to those of earlier attempts, at
/// rank 0.
void gather_digests(const std::vector<std::int64_t>& tiles, const std::vector<Digest>& digests,
                    const std::vector<std::vector<std::int64_t>>& shares, Communicator& comm,
                    std::vector<Digest>& all) {
  std::vector<Digest> mine;
  for (const std::int64_t tile : tiles)
    mine.push_back(digests[static_cast<std::size_t>(tile)]);
  const auto gathered = comm.gather(bytes_of(mine));
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    const auto* of_rank = reinterpret_cast<const Digest*>(gathered[rank].data());
    for (std::size_t at = 0; at < shares[rank].size(); ++at) {
      all[static_cast<std::size_t>(shares[rank][at])] = of_rank[at];
    }
  }
}

/// The tiles that are not to do, of which each rank takes some.
std::vector<std::int64_t> done_before(const std::vector<std::int64_t>& to_do, std::int64_t count) {
  std::vector<std::int64_t> tiles;
  auto next = to_do.begin();
  for (std::int64_t tile = 0; tile < count; ++tile) {
    if (next != to_do.end() && *next == tile) {
      ++next;
    } else {
      tiles.push_back(tile);
    }
  }
  return tiles;
}

/// One run, step by step; what a step finds out the next ones use.
class ComputeRun {
 public:
  ComputeRun(const JobConfig& config, const SeedStaging& seed, JobContext context)
      : config_(config), seed_(seed), context_(context), timer_(context.watchdog) {}

  /// The whole run; returns the path that a reader opens, at rank 0.
  std::string run();
  /// How the run has ended, whether it did well or not.
  void tell_metrics(ExitCode code);

 private:
  Communicator& comm() { return context_.mpi.world(); }
  std::string import_folder();
  bool is_published();
  void take_output_once(RunDirectory& directory);
  void take_up();
  void compute();
  void sum_blocks(std::vector<std::int64_t> tiles);
  std::string publish_result();
  std::string publish_as_rank_0();

  const JobConfig& config_;
  const SeedStaging& seed_;
  JobContext context_;
  Stopwatch watch_;
  PhaseTimer timer_;
  RunReport report_;
  RunSetup setup_;
  std::optional<RunDirectory> directory_;
  PartSet parts_;
  std::unique_ptr<Lease> lease_;
  RunWork work_;
  bool taken_ = false;  ///< the output is ours; rank 0 has the lease
  std::int64_t outside_ = 0;
  std::optional<BlockMap> blocks_;
};

std::string ComputeRun::run() {
  setup_ = set_up_run(config_, import_folder(), context_, timer_);
  report_.surveys = setup_.surveys;
  announce(setup_, context_.log);
  blocks_ = setup_.estimate;
  timer_.begin("lay out");
  directory_.emplace(context_.calls, config_.output, setup_.plan.id());
  parts_ = make_layout(setup_.plan, *directory_);
  if (is_published()) return work_.result;
  take_up();
  if (!work_.result.empty()) {
    announce_published(work_.result, context_.log);
    return work_.result;
  }
  if (!work_.sealed) compute();
  return publish_result();
}

/// Where inputs are imported to: a place in the output, which is taken first for that.
std::string ComputeRun::import_folder() {
  RunDirectory any_plan(context_.calls, config_.output, Digest{});
  if (needs_import(config_, context_)) take_output_once(any_plan);
  return any_plan.imports_folder();
}

void ComputeRun::take_output_once(RunDirectory& directory) {
  if (!taken_) lease_ = take_output(config_, directory, context_);
  taken_ = true;
}

bool ComputeRun::is_published() {
  work_.result = find_published(config_, setup_.plan, *directory_, comm());
  if (work_.result.empty()) return false;
  if (lease_) remove_tree(context_.calls, directory_->imports_folder());
  announce_published(work_.result, context_.log);
  return true;
}

void ComputeRun::take_up() {
  together(comm(), [&] {
    if (comm().rank() == 0) check_output_size(config_, setup_.plan, parts_, context_);
  });
  take_output_once(*directory_);
  announce_time(config_, setup_, parts_, context_);
  work_ = take_up_work(config_, setup_.plan, parts_, *directory_, setup_.resources.threads, seed_,
                       context_);
  if (context_.failures != nullptr) {
    context_.failures->open(directory_->errors_folder(), work_.attempt);
  }
  report_.attempt = work_.attempt;
  report_.resumed_tiles = work_.resumed;
  report_.rehashed_tiles = work_.rehashed;
  report_.damaged_tiles = work_.damaged;
}

void ComputeRun::compute() {
  const Plan& plan = setup_.plan;
  const auto shares = share_tiles(work_.to_do, plan, setup_.surveys.items, comm().size());
  const auto& tiles = shares[static_cast<std::size_t>(comm().rank())];
  timer_.begin("compute");
  if (lease_) lease_->set_phase("compute");
  const TileOutcome outcome = compute_tiles(
      {config_, setup_, parts_, directory_->journal_path(work_.attempt, comm().rank()),
       work_.attempt, lease_.get(), tiles, std::ssize(work_.to_do)},
      timer_, context_);
  comm().wait_for_all();
  report_.take(outcome);
  outside_ = outcome.outside;
  end_if_stopped(outcome.stopped, outcome.done, work_.resumed, plan.grid.count(), context_);
  gather_digests(tiles, outcome.digests, shares, comm(), work_.digests);
  if (parts_.has_terms()) sum_blocks(tiles);
}

/// `tiles` are those that this rank has computed; with those of earlier attempts each has one rank.
void ComputeRun::sum_blocks(std::vector<std::int64_t> tiles) {
  timer_.begin("block sums");
  const Plan& plan = setup_.plan;
  const auto earlier = share_tiles(done_before(work_.to_do, plan.grid.count()), plan,
                                   setup_.surveys.items, comm().size());
  const auto& mine = earlier[static_cast<std::size_t>(comm().rank())];
  tiles.insert(tiles.end(), mine.begin(), mine.end());
  TermFiles terms(context_.calls, plan.grid, parts_.terms, parts_.layouts, TileAccess::kRead);
  Communicator& sums = setup_.devices.world ? *setup_.devices.world : comm();
  blocks_ = reduce_block_sums(
      plan, [&](TileId tile, std::span<BlockTerm> to) { terms.read(tile, to); }, tiles, sums);
}

std::string ComputeRun::publish_result() {
  timer_.begin("publish");
  report_.collect(config_, setup_, output_bytes(setup_.plan.grid, parts_), context_.mpi);
  std::array<std::int64_t, 1> outside{outside_};
  comm().all_reduce_sum(outside);
  outside_ = outside[0];
  std::string result;
  together(comm(), [&] {
    if (comm().rank() == 0) result = publish_as_rank_0();
  });
  if (comm().rank() == 0) report_.summarize(timer_, result, context_.log);
  return result;
}

std::string ComputeRun::publish_as_rank_0() {
  timer_.end();
  if (lease_) lease_->set_phase("publish");
  const auto still_ours = [this] {
    if (lease_) lease_->check();
  };
  std::string result;
  if (work_.sealed) {
    result = directory_->publish_sealed(still_ours);
  } else {
    Publication publication{
        config_,
        setup_.plan,
        parts_,
        work_.digests,
        std::nullopt,
        setup_.surveys.queries.counts.zero_rows + setup_.surveys.items.counts.zero_rows,
        [this] { return read_result_names(config_, setup_, context_.calls); },
        report_.to_json(timer_),
        setup_.resources.threads,
        still_ours};
    if (blocks_) publication.blocks = &*blocks_;
    if (work_.resumed == 0) publication.outside = outside_;
    result = publish(*directory_, publication, context_.calls);
  }
  retire_old_versions(config_, *directory_, context_);
  return result;
}

void ComputeRun::tell_metrics(ExitCode code) {
  if (comm().rank() != 0) return;
  const bool untouched = code == ExitCode::kCannotCreate || (directory_ && !lease_);
  timer_.end();
  write_metrics(config_, {code, watch_.seconds(), std::time(nullptr), 0, timer_, report_},
                untouched ? MetricsPlace::kFileOnly : MetricsPlace::kOutputToo, context_);
}

/// The run and its metrics, whatever becomes of it.
std::string run_and_tell(ComputeRun& run) {
  try {
    std::string result = run.run();
    run.tell_metrics(ExitCode::kOk);
    return result;
  } catch (const std::exception& failure) {
    run.tell_metrics(error_of(failure).code());
    throw;
  }
}

}  // namespace

std::string run_compute_seeded(const JobConfig& config, const SeedStaging& seed,
                               JobContext context) {
  std::unique_ptr<FileCalls> unsynced;
  if (config.durability == Durability::kOff) unsynced = without_sync(context.calls);
  FileCalls& calls = unsynced ? *unsynced : context.calls;
  if (config.cut) {
    return run_pairs(config, {context.mpi, calls, context.log, context.stop, context.watchdog,
                              context.failures});
  }
  ComputeRun run(
      config, seed,
      {context.mpi, calls, context.log, context.stop, context.watchdog, context.failures});
  return run_and_tell(run);
}

std::string run_compute(const JobConfig& config, JobContext context) {
  return run_compute_seeded(config, nullptr, context);
}

}  // namespace bulksim
