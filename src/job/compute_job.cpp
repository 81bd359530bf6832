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
#include "bulksim/job/progress.hpp"
#include "bulksim/job/tile_output.hpp"
#include "bulksim/storage/journal.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "bulksim/storage/tile_files.hpp"
#include "bulksim/storage/tile_log.hpp"
#include "bulksim/storage/unsynced_calls.hpp"
#include "job/metrics.hpp"
#include "job/pairs_run.hpp"
#include "job/publication.hpp"
#include "job/row_names.hpp"
#include "job/run_report.hpp"
#include "job/run_setup.hpp"
#include "job/run_steps.hpp"
#include "job/run_work.hpp"
#include "job/trial.hpp"

namespace bulksim {

namespace {

/// A trial costs a second: below this, a run does not take many more.
constexpr std::int64_t kWorthATrial = std::int64_t{8} << 30;

void announce_time(const JobConfig& config, const RunSetup& setup, const PartSet& parts,
                   JobContext context) {
  if (output_bytes(parts.layouts) < kWorthATrial) return;
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

/// False when the tiles were left at a border, because a stop was requested.
bool streamed_all(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, RunSink& sink) {
  try {
    stream_tiles(setup, tiles, backend, sink);
    return true;
  } catch (const Stopped&) {
    return false;
  }
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
  void compute_tiles(TileFiles& files, TileLog* log, const std::vector<std::int64_t>& tiles);
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
  bool stopped_ = false;
  std::int64_t done_ = 0;  ///< tiles of this rank
  std::vector<Digest> digests_;
  std::int64_t outside_ = 0;
};

std::string ComputeRun::run() {
  setup_ = set_up_run(config_, import_folder(), context_, timer_);
  report_.surveys = setup_.surveys;
  announce(setup_, context_.log);
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
  TileFiles files(context_.calls, plan.grid, parts_.paths, parts_.layouts, TileAccess::kReadWrite);
  if (config_.durability == Durability::kOff || tiles.empty()) {
    compute_tiles(files, nullptr, tiles);
  } else {
    Journal journal(context_.calls, directory_->journal_path(work_.attempt, comm().rank()),
                    {plan.id(), work_.attempt, comm().rank()});
    TileLog log(journal, files, parts_.layouts.front().tile_bytes, config_.commit);
    compute_tiles(files, &log, tiles);
    timer_.begin("sync");
    log.finish();
  }
  comm().wait_for_all();
  report_.computed_tiles = done_;
  end_if_stopped(stopped_, done_, work_.resumed, plan.grid.count(), context_);
  gather_digests(tiles, digests_, shares, comm(), work_.digests);
}

void ComputeRun::compute_tiles(TileFiles& files, TileLog* log,
                               const std::vector<std::int64_t>& tiles) {
  const Plan& plan = setup_.plan;
  const auto tile_bytes = plan.grid.tile().cells() * bytes_of(plan.value_type);
  TileOutput::Options options{.log = log, .type = plan.value_type};
  if (config_.guard == Guard::kOn) options.most = largest_score(plan.arithmetic);
  if (lease_) {
    options.before_tile = [this] {
      if (lease_->lost()) lease_->check();
    };
  }
  Progress progress(context_.log, std::ssize(tiles), tile_bytes * std::ssize(work_.to_do));
  TileOutput output(plan.grid, files, progress, std::move(options));
  RunSink sink(plan, output, context_);
  const auto backend = make_backend(plan, setup_.resources);
  stopped_ = !streamed_all(setup_, tiles, *backend, sink);
  report_.backend = backend->description();
  report_.recomputed_tiles = backend->recomputed_tiles();
  report_.zero_tiles = output.zero_tiles();
  digests_ = output.digests();
  outside_ = output.outside();
  done_ = progress.done();
}

std::string ComputeRun::publish_result() {
  timer_.begin("publish");
  report_.collect(config_, setup_, parts_.layouts, context_.mpi);
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
