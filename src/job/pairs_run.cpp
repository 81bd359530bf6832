#include "job/pairs_run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <vector>

#include "bulksim/core/phase_timer.hpp"
#include "bulksim/job/agreement.hpp"
#include "bulksim/job/options.hpp"
#include "bulksim/job/progress.hpp"
#include "bulksim/storage/pair_file.hpp"
#include "bulksim/storage/run_directory.hpp"
#include "bulksim/storage/unsynced_calls.hpp"
#include "job/guarded_work.hpp"
#include "job/metrics.hpp"
#include "job/pair_merge.hpp"
#include "job/pair_output.hpp"
#include "job/pair_publication.hpp"
#include "job/publication.hpp"
#include "job/publish_guard.hpp"
#include "job/row_names.hpp"
#include "job/run_report.hpp"
#include "job/run_setup.hpp"
#include "job/run_steps.hpp"
#include "job/run_work.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kPairBytes = 8;

std::string runs_folder(const RunDirectory& directory) {
  return directory.staging() + "/parts";
}

std::string run_file(const RunDirectory& directory, std::int64_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "/part-%05lld.pairs", static_cast<long long>(number));
  return runs_folder(directory) + name;
}

/// What is left to do, decided by rank 0.
struct PairWorkLeft {
  std::string result;  ///< not empty: published already
  bool sealed = false;
  int attempt = 0;
  std::int64_t resumed = 0;
  std::int64_t first_file = 0;  ///< number of the first rank's file of this attempt
  std::vector<std::int64_t> to_do;
};

/// One run, step by step; what a step finds out the next ones use.
class PairsRun {
 public:
  PairsRun(const JobConfig& config, JobContext context)
      : config_(config), context_(context), timer_(context.watchdog) {}

  std::string run();
  /// How the run has ended, whether it did well or not.
  void tell_metrics(ExitCode code);

 private:
  Communicator& comm() { return context_.mpi.world(); }
  const TileGrid& grid() const { return setup_.plan.grid; }
  void take_output_once(RunDirectory& directory);
  bool is_published();
  std::int64_t limit();
  void check_known_size();
  void take_up();
  PairWorkLeft decide();
  void share_decision();
  void compute();
  void compute_tiles(PairRunFile& file, const std::vector<std::int64_t>& tiles);
  Error too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const;
  std::string publish_result();
  std::string publish_as_rank_0();

  const JobConfig& config_;
  JobContext context_;
  Stopwatch watch_;
  PhaseTimer timer_;
  RunReport report_;
  RunSetup setup_;
  std::optional<RunDirectory> directory_;
  std::unique_ptr<Lease> lease_;
  bool taken_ = false;
  PairWorkLeft work_;
  std::int64_t limit_ = 0;
  bool stopped_ = false;
  std::int64_t done_ = 0;
  PairWork bounds_;
};

std::string PairsRun::run() {
  RunDirectory any_plan(context_.calls, config_.output, Digest{});
  if (needs_import(config_, context_)) take_output_once(any_plan);
  setup_ = set_up_run(config_, any_plan.imports_folder(), context_, timer_);
  report_.surveys = setup_.surveys;
  announce(setup_, context_.log);
  timer_.begin("lay out");
  directory_.emplace(context_.calls, config_.output, setup_.plan.id());
  if (is_published()) return work_.result;
  together(comm(), [&] { check_known_size(); });
  take_output_once(*directory_);
  take_up();
  if (!work_.result.empty()) {
    announce_published(work_.result, context_.log);
    return work_.result;
  }
  if (!work_.sealed) compute();
  return publish_result();
}

void PairsRun::take_output_once(RunDirectory& directory) {
  if (!taken_) lease_ = take_output(config_, directory, context_);
  taken_ = true;
}

bool PairsRun::is_published() {
  work_.result = find_published(config_, setup_.plan, *directory_, comm());
  if (work_.result.empty()) return false;
  if (lease_) remove_tree(context_.calls, directory_->imports_folder());
  announce_published(work_.result, context_.log);
  return true;
}

/// Bytes that the result may take.
std::int64_t PairsRun::limit() {
  if (config_.max_output) return *config_.max_output;
  const std::int64_t free =
      context_.calls.free_bytes(existing_folder(context_.calls, config_.output).c_str());
  return free < 0 ? kEveryRow : free / 2;
}

/// The size of lists of the best is known; that of the others turns out.
void PairsRun::check_known_size() {
  limit_ = limit();
  const ResultCut& cut = *setup_.plan.cut;
  if (cut.keep != Keep::kBest) return;
  const std::int64_t bytes = 12 * grid().shape().queries * cut.count;
  if (bytes <= limit_) return;
  throw Error(ExitCode::kIoError,
              "the best " + std::to_string(cut.count) + " items of each query take " +
                  bytes_text(bytes) + " and " +
                  (config_.max_output ? "--max-output allows " : "half of the free space is ") +
                  bytes_text(limit_) + "; raise --max-output or lower --top-k");
}

void PairsRun::take_up() {
  together(comm(), [&] {
    if (comm().rank() == 0) work_ = decide();
  });
  share_decision();
  if (context_.failures != nullptr) {
    context_.failures->open(directory_->errors_folder(), work_.attempt);
  }
  report_.attempt = work_.attempt;
  report_.resumed_tiles = work_.resumed;
}

PairWorkLeft PairsRun::decide() {
  PairWorkLeft left;
  const Plan& plan = setup_.plan;
  if (config_.repeat == Repeat::kReuse) {
    left.result = directory_->finish_publication(plan.to_json()).value_or("");
    if (!left.result.empty()) return left;
  }
  left.sealed = directory_->prepare(plan.to_json()) == Staged::kSealed;
  if (left.sealed) return left;
  make_directories(context_.calls, runs_folder(*directory_), 0700);
  const auto files = pair_run_files(context_.calls, runs_folder(*directory_));
  const PairRuns runs(context_.calls, files, plan.id(), plan.grid);
  for (std::int64_t tile = 0; tile < plan.grid.count(); ++tile) {
    const TileId id = plan.grid.id(tile);
    if (!plan.cut->touches(plan.grid.queries(id.row), plan.grid.items(id.column))) continue;
    if (runs.has(tile)) {
      ++left.resumed;
    } else {
      left.to_do.push_back(tile);
    }
  }
  for (const std::string& path : files) {
    const std::int64_t number = std::atoll(path.c_str() + path.rfind('-') + 1);
    left.first_file = std::max(left.first_file, number + 1);
  }
  left.attempt = directory_->begin_attempt();
  if (left.resumed > 0) {
    context_.log.info("resumed", "attempt " + std::to_string(left.attempt) + ": " +
                                     std::to_string(left.resumed) + " tiles are done already");
  }
  return left;
}

void PairsRun::share_decision() {
  work_.result = broadcast_text(comm(), work_.result);
  std::vector<std::int64_t> numbers{work_.sealed ? 1 : 0, work_.attempt, work_.resumed,
                                    work_.first_file};
  const std::size_t head = numbers.size();
  numbers.insert(numbers.end(), work_.to_do.begin(), work_.to_do.end());
  const auto view = bytes_of(numbers);
  std::vector<std::byte> bytes(view.begin(), view.end());
  comm().broadcast(bytes);
  numbers.resize(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  work_.sealed = numbers[0] == 1;
  work_.attempt = static_cast<int>(numbers[1]);
  work_.resumed = numbers[2];
  work_.first_file = numbers[3];
  work_.to_do.assign(numbers.begin() + static_cast<std::ptrdiff_t>(head), numbers.end());
}

void PairsRun::compute() {
  const auto shares = share_tiles(work_.to_do, setup_.plan, setup_.surveys.items, comm().size());
  const auto& tiles = shares[static_cast<std::size_t>(comm().rank())];
  timer_.begin("compute");
  if (lease_) lease_->set_phase("compute");
  if (!tiles.empty()) {
    PairRunFile file(context_.calls, run_file(*directory_, work_.first_file + comm().rank()),
                     setup_.plan.id());
    compute_tiles(file, tiles);
    timer_.begin("sync");
    file.sync();
  }
  comm().wait_for_all();
  report_.computed_tiles = done_;
  end_if_stopped(stopped_, done_, work_.resumed, work_.resumed + std::ssize(work_.to_do), context_);
}

void PairsRun::compute_tiles(PairRunFile& file, const std::vector<std::int64_t>& tiles) {
  const Plan& plan = setup_.plan;
  Progress progress(context_.log, std::ssize(tiles), 0);
  PairOutput::Options options{config_.commit, plan.cut->mirrored, limit_, nullptr, nullptr};
  if (plan.cut->keep != Keep::kAll) options.most_bytes = kEveryRow;
  if (lease_) {
    options.before_tile = [this] {
      if (lease_->lost()) lease_->check();
    };
  }
  options.too_much = [&](std::int64_t pairs) {
    return too_much(pairs, progress.done() + 1, std::ssize(tiles));
  };
  PairOutput output(plan.grid, file, progress, std::move(options));
  GuardedPairSink sink(output, context_);
  const auto backend = make_pair_backend(plan, setup_.resources);
  try {
    stream_pairs(setup_, tiles, *backend, sink);
  } catch (const Stopped&) {
    stopped_ = true;
  }
  report_.backend = backend->description();
  report_.recomputed_tiles = backend->recomputed_tiles();
  bounds_ = backend->work();
  done_ = progress.done();
}

/// `pairs` were found in `tiles_done` of this rank's `tiles`.
Error PairsRun::too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const {
  const double share = static_cast<double>(tiles_done) / static_cast<double>(tiles);
  const double expected = static_cast<double>(kPairBytes * pairs) / share *
                          static_cast<double>(work_.to_do.size()) / static_cast<double>(tiles);
  return Error(ExitCode::kIoError,
               "the pairs will take about " + bytes_text(static_cast<std::int64_t>(expected)) +
                   " (" + std::to_string(static_cast<std::int64_t>(expected) / kPairBytes) +
                   " pairs) and " +
                   (config_.max_output ? "--max-output allows " : "half of the free space is ") +
                   bytes_text(limit_) +
                   "; raise --max-output to go on, or take a higher --threshold or --top-k");
}

std::string PairsRun::publish_result() {
  timer_.begin("publish");
  std::array<std::int64_t, 5> sums{bounds_.cells, bounds_.skipped, bounds_.candidates,
                                   bounds_.products, bounds_.useful_products};
  comm().all_reduce_sum(sums);
  if (sums[0] > 0) {
    char text[200];
    const auto percent = [&](std::int64_t part, std::int64_t whole) {
      return 100.0 * static_cast<double>(part) /
             static_cast<double>(std::max<std::int64_t>(whole, 1));
    };
    std::snprintf(text, sizeof text,
                  "bounds: %.1f %% of the cells skipped in whole blocks, %.2f %% computed exactly; "
                  "%.1f %% of the multiply-adds done",
                  percent(sums[1], sums[0]), percent(sums[2], sums[0]),
                  sums[4] > 0 ? percent(sums[3], sums[4]) : 100.0);
    context_.log.info("bounds", text,
                      {{"cells", sums[0]}, {"skipped", sums[1]}, {"exact", sums[2]}});
  }
  report_.collect(config_, setup_, {}, context_.mpi);
  std::string result;
  together(comm(), [&] {
    if (comm().rank() == 0) result = publish_as_rank_0();
  });
  if (comm().rank() == 0) report_.summarize(timer_, result, context_.log);
  return result;
}

std::string PairsRun::publish_as_rank_0() {
  timer_.end();
  if (lease_) lease_->set_phase("publish");
  const auto still_ours = [this] {
    if (lease_) lease_->check();
  };
  const Plan& plan = setup_.plan;
  std::string result;
  if (work_.sealed) {
    result = directory_->publish_sealed(still_ours);
  } else {
    const PairRuns runs(context_.calls, pair_run_files(context_.calls, runs_folder(*directory_)),
                        plan.id(), plan.grid);
    for (const std::int64_t tile : work_.to_do) {
      if (runs.has(tile)) continue;
      throw Error(ExitCode::kDataError,
                  "the pairs of tile " + std::to_string(tile) +
                      " read otherwise than they were written: this storage loses data; the same "
                      "command computes them again");
    }
    const auto row_offsets = PairMerge(runs, plan.grid, *plan.cut).row_offsets();
    report_.output_bytes = pair_result_bytes(plan, row_offsets);
    if (plan.cut->keep == Keep::kAll && report_.output_bytes > limit_) {
      throw too_much(row_offsets.back(), 1, 1);
    }
    check_guard_of_inputs(
        config_, plan,
        setup_.surveys.queries.counts.zero_rows + setup_.surveys.items.counts.zero_rows,
        *directory_, context_.calls);
    result = publish_pairs(*directory_,
                           {plan, runs, row_offsets,
                            [this] { return read_result_names(config_, setup_, context_.calls); },
                            report_.to_json(timer_), still_ours},
                           context_.calls);
    context_.log.info("pairs", std::to_string(row_offsets.back()) + " pairs",
                      {{"pairs", row_offsets.back()}});
  }
  retire_old_versions(config_, *directory_, context_);
  return result;
}

void PairsRun::tell_metrics(ExitCode code) {
  if (comm().rank() != 0) return;
  const bool untouched = code == ExitCode::kCannotCreate || (directory_ && !lease_);
  timer_.end();
  write_metrics(config_, {code, watch_.seconds(), std::time(nullptr), 0, timer_, report_},
                untouched ? MetricsPlace::kFileOnly : MetricsPlace::kOutputToo, context_);
}

}  // namespace

std::string run_pairs(const JobConfig& config, JobContext context) {
  PairsRun run(config, context);
  try {
    std::string result = run.run();
    run.tell_metrics(ExitCode::kOk);
    return result;
  } catch (const std::exception& failure) {
    run.tell_metrics(error_of(failure).code());
    throw;
  }
}

}  // namespace bulksim
