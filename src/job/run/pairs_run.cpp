#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "comm/collective_error.hpp"
#include "core/files/metered_calls.hpp"
#include "core/text/format_text.hpp"
#include "job/input/row_ids.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/tile_partition.hpp"
#include "job/publish/change_guard.hpp"
#include "job/publish/pair_merge.hpp"
#include "job/publish/pair_publication.hpp"
#include "job/publish/pair_size.hpp"
#include "job/publish/publication.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/resume.hpp"
#include "job/run/run_session.hpp"
#include "job/run/runs.hpp"
#include "job/run/stream_tiles.hpp"
#include "job/sinks/list_delivery.hpp"
#include "job/sinks/pair_output.hpp"
#include "job/sinks/progress.hpp"
#include "job/sinks/watched_sink.hpp"

namespace bulksim {

namespace {

/// One run, step by step; later steps use the results of earlier ones.
class PairsRun {
 public:
  PairsRun(const SeedStaging& seed, RunSession& session) : seed_(seed), session_(session) {}

  std::string run();

 private:
  const Plan& plan() const { return session_.plan(); }
  PairText text_of_result() const;
  void check_ids() const;
  void check_known_size();
  std::optional<FileForm> form() const { return file_form(session_.config.output); }
  void compute();
  void compute_tiles(PairRunFile& file);
  std::vector<std::int64_t> share_of_this_rank(const std::vector<std::int64_t>& tiles) const;
  void find_lists(const PairFilterSpec& filter, const std::vector<std::int64_t>& tiles,
                  PairStream& stream, const PairBackend& backend, PairSink& sink);
  std::int64_t least_list_rows() const;
  std::int64_t next_list_rows(std::int64_t rows, double seconds);
  Error too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const;
  Error too_large(std::int64_t pairs, const std::string& need) const;
  std::string limit_text() const;
  void log_ways();
  std::string publish_as_rank_0();
  PairRuns read_runs();
  std::int64_t checked_size(const std::vector<std::int64_t>& row_offsets) const;
  std::string merge(PairMerge& merge, const std::vector<std::int64_t>& row_offsets);

  const SeedStaging& seed_;
  RunSession& session_;
  PairsLeft work_;
  std::int64_t limit_ = 0;
  bool stopped_ = false;
  std::int64_t done_ = 0;
  PairStats bounds_;
};

std::string PairsRun::run() {
  session_.set_up();
  std::string published = session_.find_published();
  if (!published.empty()) return published;
  run_collectively(session_.comm(), [&] {
    check_ids();
    check_known_size();
  });
  session_.take_output();
  work_ = resume_pairs(session_.config, plan(), *session_.directory, seed_, session_.context);
  session_.begin_attempt(work_);
  if (!work_.result.empty()) return work_.result;
  if (!work_.finalized) compute();
  return session_.publish(work_.finalized ? "publish" : "merge",
                          [this] { return publish_as_rank_0(); });
}

/// The largest size of the result in bytes.
std::int64_t output_limit(const JobConfig& config, JobContext context) {
  if (config.max_output) return *config.max_output;
  const std::int64_t free =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  return free < 0 ? kEveryRow : free / 2;
}

std::string PairsRun::limit_text() const {
  return (session_.config.max_output ? "--max-output allows " : "half of the free space is ") +
         bytes_text(limit_);
}

/// The size of top-k lists in HDF5 is known in advance; that of other pairs is not.
void PairsRun::check_known_size() {
  limit_ = output_limit(session_.config, session_.context);
  const PairFilterSpec& filter = *plan().filter;
  if (filter.keep != Keep::kBest || form().value_or(FileForm::kHdf5) != FileForm::kHdf5) return;
  const std::int64_t bytes = pair_result_size(plan(), {0}, form()).least;
  if (bytes <= limit_) return;
  throw Error(ExitCode::kIoError, "the best " + std::to_string(filter.count) +
                                      " items of each query take " + bytes_text(bytes) + " and " +
                                      limit_text() + "; raise --max-output or lower --top-k");
}

void PairsRun::compute() {
  session_.begin("compute");
  {
    PairRunFile file(session_.context.calls,
                     pair_run_file(*session_.directory, work_.first_file + session_.comm().rank()),
                     plan().id(), plan().grid.shape());
    compute_tiles(file);
    session_.timer.begin("sync");
    file.sync();
  }
  session_.comm().wait_for_all();
  session_.report.computed_tiles = done_;
  end_if_stopped(stopped_, done_, work_.resumed, work_.resumed + std::ssize(work_.to_do),
                 session_.context);
  log_ways();
}

void PairsRun::compute_tiles(PairRunFile& file) {
  const PairFilterSpec filter = searched_filter(session_.setup, work_.resumed == 0);
  const auto tiles = tiles_of(filter, plan().grid, work_.to_do);
  const auto own = share_of_this_rank(tiles);
  Progress progress(session_.context.log, std::ssize(own), 0);
  PairOutput::Options options{.commit = session_.config.commit,
                              .mirrored = plan().filter->mirrored,
                              .most_pairs = plan().filter->keep == Keep::kAll
                                                ? limit_ / bytes_of_a_pair(plan(), form())
                                                : kEveryRow,
                              .before_tiles = [check = session_.before_tile()](auto) {
                                if (check) check();
                              }};
  options.too_much = [&](std::int64_t pairs) {
    return too_much(pairs, progress.done() + 1, std::ssize(own));
  };
  PairOutput output(plan().grid, file, progress, std::move(options));
  WatchedSink sink(output, session_.context);
  auto backend = make_pair_backend(session_.setup, filter);
  try {
    PairStream stream(session_.setup, *backend, sink);
    if (filter.keep == Keep::kBest) {
      find_lists(filter, tiles, stream, *backend, sink);
    } else {
      stream.run(own);
    }
  } catch (const Stopped&) {
    stopped_ = true;
  }
  session_.report.backend = backend->description();
  session_.report.recomputed_tiles = backend->recomputed_tiles();
  bounds_ = backend->work();
  backend.reset();  // its threads may still finish tiles after a stop request
  output.finish();
  done_ = progress.done();
}

std::vector<std::int64_t> PairsRun::share_of_this_rank(
    const std::vector<std::int64_t>& tiles) const {
  const auto shares =
      share_tiles(tiles, plan(), session_.setup.surveys.items, session_.comm().size());
  return shares[session_.comm().rank()];
}

/// Finds the lists of some rows of tiles at a time: all ranks share their tiles, and then merge
/// what they have found. After a crash the rows at work are lost: their number follows the time
/// that may be. A collective; throws Stopped on all ranks alike.
void PairsRun::find_lists(const PairFilterSpec& filter, const std::vector<std::int64_t>& tiles,
                          PairStream& stream, const PairBackend& backend, PairSink& sink) {
  const TileGrid& grid = plan().grid;
  std::int64_t count = least_list_rows();
  for (RowRange rows{0, 0}; rows.end < grid.rows(); rows.begin = rows.end) {
    rows.end = std::min(rows.begin + count, grid.rows());
    const auto finished = tiles_in(rows, grid, work_.to_do);
    if (finished.empty()) continue;
    const Stopwatch watch;
    std::array<std::int64_t, 1> stopped{0};
    try {
      stream.run(share_of_this_rank(tiles_in(rows, grid, tiles)));
    } catch (const Stopped&) {
      stopped[0] = 1;
    }
    session_.comm().wait_for_all();
    session_.comm().all_reduce_max(stopped);
    if (stopped[0] != 0) throw Stopped();
    deliver_lists(backend, filter, grid, rows, finished, sink, session_.comm());
    count = next_list_rows(rows.size(), watch.seconds());
  }
}

/// Rows of tiles whose queries make it worth reading and inverting all items.
std::int64_t PairsRun::least_list_rows() const {
  constexpr std::int64_t kQueries = std::int64_t{1} << 14;
  if (session_.config.commit.seconds <= 0.0) return 1;
  const std::int64_t rows = divide_up(kQueries, plan().grid.tile().queries);
  return std::min(rows, session_.setup.schedule.query_batch_rows);
}

/// The number of rows that take as long as may be lost, after `rows` took `seconds`; the same on
/// all ranks.
std::int64_t PairsRun::next_list_rows(std::int64_t rows, double seconds) {
  constexpr double kMostGrowth = 8.0;
  std::array<std::int64_t, 1> microseconds{std::llround(seconds * 1e6) + 1};
  session_.comm().all_reduce_max(microseconds);
  const double growth = session_.config.commit.seconds * 1e6 / static_cast<double>(microseconds[0]);
  const auto wanted =
      static_cast<std::int64_t>(static_cast<double>(rows) * std::min(growth, kMostGrowth));
  return std::clamp(wanted, least_list_rows(),
                    std::max(least_list_rows(), session_.setup.schedule.query_batch_rows));
}

/// `pairs` were found in `tiles_done` of this rank's `tiles`.
Error PairsRun::too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const {
  const double share = static_cast<double>(tiles_done) / static_cast<double>(tiles);
  const double expected = static_cast<double>(pairs) / share *
                          static_cast<double>(work_.to_do.size()) / static_cast<double>(tiles);
  const auto all = static_cast<std::int64_t>(expected);
  return Error(ExitCode::kIoError,
               "the pairs will take at least " + bytes_text(bytes_of_a_pair(plan(), form()) * all) +
                   " (" + std::to_string(all) + " pairs) and " + limit_text() +
                   "; raise --max-output to resume, or use a higher --threshold or --top-k");
}

Error PairsRun::too_large(std::int64_t pairs, const std::string& need) const {
  return Error(ExitCode::kIoError,
               "the " + std::to_string(pairs) + " pairs need " + need + " " + limit_text() +
                   "; raise --max-output to resume, or use a higher --threshold or --top-k");
}

void PairsRun::log_ways() {
  const auto& [join, sweep, filter] = bounds_.cells_of_way;
  std::array<std::int64_t, 4> sums{join, sweep, filter, bounds_.candidates};
  session_.comm().all_reduce_sum(sums);
  const std::int64_t cells = sums[0] + sums[1] + sums[2];
  if (cells == 0) return;
  const auto percent = [&](std::int64_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(cells);
  };
  const std::string text = formatted(
      "the join has searched %.1f %% of the cells, the sweep %.1f %%, the filter %.1f %%; %.3g %% "
      "of all were computed exactly",
      percent(sums[0]), percent(sums[1]), percent(sums[2]), percent(sums[3]));
  session_.context.log.detail(
      "ways", text,
      {{"join", sums[0]}, {"sweep", sums[1]}, {"filter", sums[2]}, {"exact", sums[3]}});
}

PairText PairsRun::text_of_result() const {
  return {form().value_or(FileForm::kHdf5), session_.config.run_tag, session_.config.replace_blanks,
          plan().filter->keep == Keep::kBest};
}

/// Ids that a TREC run cannot hold are refused before anything is computed.
void PairsRun::check_ids() const {
  const PairText text = text_of_result();
  if (text.form != FileForm::kTrec || session_.comm().rank() != 0) return;
  const PairTextWriter writer(text, reread_result_ids(session_), [](std::string_view) {});
}

std::string PairsRun::publish_as_rank_0() {
  RunDirectory& directory = *session_.directory;
  FileCalls& calls = session_.context.calls;
  if (work_.finalized) {
    const std::string path = directory.staging() + "/similarity.h5";
    session_.report.output_bytes = File::open(calls, path, O_RDONLY | O_NOFOLLOW).size();
    return directory.publish_finalized(session_.still_ours());
  }
  const PairRuns runs = read_runs();
  PairMerge pairs(runs, plan().grid.shape().queries, *plan().filter);
  const auto row_offsets = pairs.row_offsets();
  session_.report.output_bytes = checked_size(row_offsets);
  check_guard_of_inputs(session_.config, plan(), session_.setup.counts().zero_rows, directory,
                        calls);
  std::string result = merge(pairs, row_offsets);
  if (directory.form() == OutputForm::kSingleFile) {
    session_.report.output_bytes = File::open(calls, result, O_RDONLY).size();
  }
  session_.context.log.info("pairs", std::to_string(row_offsets.back()) + " pairs",
                            {{"pairs", row_offsets.back()}});
  return result;
}

PairRuns PairsRun::read_runs() {
  FileCalls& calls = session_.context.calls;
  PairRuns runs(calls, pair_run_files(calls, pair_runs_folder(*session_.directory)), plan().id(),
                plan().grid);
  for (const std::int64_t tile : work_.to_do) {
    if (runs.has(tile)) continue;
    throw Error(ExitCode::kDataError, "the pairs of tile " + std::to_string(tile) +
                                          " differ from what was written: this storage loses data; "
                                          "run the same command to compute them again");
  }
  return runs;
}

/// Bytes of the result, at least.
std::int64_t PairsRun::checked_size(const std::vector<std::int64_t>& row_offsets) const {
  const std::int64_t bytes = pair_result_size(plan(), row_offsets, form()).least;
  if (bytes > limit_) throw too_large(row_offsets.back(), bytes_text(bytes) + ", and");
  return bytes;
}

/// Publishes the merged pairs; ends before more is written than allowed, or after a stop request.
std::string PairsRun::merge(PairMerge& merge, const std::vector<std::int64_t>& row_offsets) {
  const std::int64_t bytes = pair_result_size(plan(), row_offsets, form()).most;
  Progress progress(session_.context.log, bytes, bytes, "merging  ");
  const auto calls = metered_calls(session_.context.calls, [&](PendingWrite write) {
    session_.context.stop.check();
    if (write.end() > limit_) {
      throw too_large(row_offsets.back(), "more space:");
    }
    progress.add(write.bytes);
  });
  return publish_pairs(*session_.directory,
                       {plan(), merge, row_offsets, [&] { return reread_result_ids(session_); },
                        [&] { return session_.report.to_json(session_.timer); },
                        session_.still_ours(), text_of_result()},
                       *calls, session_.context.log);
}

}  // namespace

std::string run_pairs(const JobConfig& config, const SeedStaging& seed, JobContext context) {
  RunSession session(config, context);
  PairsRun run(seed, session);
  return run_with_metrics(session, [&] { return run.run(); });
}

}  // namespace bulksim
