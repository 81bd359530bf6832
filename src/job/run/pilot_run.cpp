#include "job/run/pilot_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "comm/collective_error.hpp"
#include "core/files/file_appender.hpp"
#include "core/run/phase_timer.hpp"
#include "job/blocks/block_reduction.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/tile_partition.hpp"
#include "job/publish/pair_merge.hpp"
#include "job/publish/pair_text.hpp"
#include "job/publish/publication.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/stream_tiles.hpp"
#include "job/sinks/pair_output.hpp"
#include "job/sinks/pilot_output.hpp"
#include "job/sinks/progress.hpp"
#include "job/sinks/watched_sink.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
constexpr double kShortest = 1e-6;           // seconds
constexpr double kPairSeconds = 0.5;         // tell tiles of pairs from the work done once
constexpr std::int64_t kEnoughRows = 16;     // of tiles, for a sample of whole rows
constexpr std::int64_t kGrowth = 4;          // of a sample to the next
constexpr double kMostPairSeconds = 10.0;    // after which the sample grows no more
constexpr std::int64_t kTilesOfAColumn = 4;  // enough to spread the work done once per column

/// An open file without a name: nothing of it is left over, however the process ends.
File unnamed_file(FileCalls& calls, const std::string& folder) {
  if (File file = File::create_unnamed(calls, inside(folder, "pilot")); file.is_open()) return file;
  // not every file system has O_TMPFILE: create a file and unlink it at once
  const std::string path = folder + "/.bulksim-pilot-" + std::to_string(getpid());
  File file = File::open(calls, path, O_CREAT | O_EXCL | O_RDWR, 0600);
  calls.unlink(path.c_str());
  return file;
}

/// Tiles of up to `runs` stretches of the share of a rank: from each, `of_a_column` tiles of every
/// column computed at once in a run, so that every thread has one.
std::vector<std::int64_t> spread_tiles(const std::vector<std::int64_t>& share,
                                       const RunSetup& setup, std::int64_t runs,
                                       std::int64_t of_a_column) {
  const TileGrid& grid = setup.plan.grid;
  const std::int64_t size = std::ssize(share);
  const std::int64_t columns = setup.schedule.columns_at_work();
  std::vector<std::int64_t> tiles;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t first = size * run / runs;
    const std::int64_t end_column = grid.id(share[first]).column + columns;
    std::vector<std::int64_t> taken(columns);
    for (std::int64_t at = first; at < size; ++at) {
      const std::int64_t number = share[at];
      const std::int64_t place = end_column - grid.id(number).column - 1;
      if (place < 0) break;
      if (!tiles.empty() && number <= tiles.back()) continue;
      if (taken[place]++ < of_a_column) tiles.push_back(number);
    }
  }
  return tiles;
}

/// Bytes of a tile on the disk; pairs are too few to count.
std::int64_t stored_bytes(const Plan& plan) {
  return (plan.has_matrix() ? plan.grid.tile().cells() * bytes_of(plan.value_type) : 0) +
         (plan.softmax_scale ? partial_section_bytes(plan.grid) : 0);
}

double maximum(double seconds, Communicator& comm) {
  std::array<std::int64_t, 1> microseconds{std::llround(seconds * 1e6)};
  comm.all_reduce_max(microseconds);
  return static_cast<double>(microseconds[0]) * 1e-6;
}

double sum(double bytes, Communicator& comm) {
  std::array<std::int64_t, 1> whole{std::llround(bytes)};
  comm.all_reduce_sum(whole);
  return static_cast<double>(whole[0]);
}

/// What one rank measured: two samples of tiles, which separate the work done once per run from the
/// work per tile. With pairs, the small one is the beginning of the large one.
struct Samples {
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  std::size_t tiles = 0;  ///< to be computed
  double reserved_bytes = 0.0;
  double reserve_seconds = 0.0;
  double small_seconds = 0.0;
  double large_seconds = 0.0;
  double sync_seconds = 0.0;
  double no_merge_seconds = 0.0;     ///< for merging the pairs of no tile
  double large_merge_seconds = 0.0;  ///< for those of the large sample
  double no_sums_seconds = 0.0;      ///< for block sums of no tile
  double large_sums_seconds = 0.0;   ///< for those of the large sample

  double written_tiles() const { return static_cast<double>(small.size() + large.size()); }
};

/// Of tiles with `most_bytes` of values.
Samples choose_samples(const RunSetup& setup, const std::vector<std::int64_t>& share,
                       std::int64_t most_bytes) {
  const std::int64_t tile_bytes = setup.plan.grid.tile().cells() * std::int64_t{sizeof(float)};
  Samples samples;
  samples.tiles = share.size();
  samples.small = spread_tiles(share, setup, 1, kTilesOfAColumn);
  const std::int64_t small_bytes = std::ssize(samples.small) * tile_bytes;
  samples.large = spread_tiles(
      share, setup, std::max<std::int64_t>(2, most_bytes / small_bytes - 1), kTilesOfAColumn);
  return samples;
}

template <class Step>
double seconds_of(const Step& step) {
  const Stopwatch watch;
  step();
  return watch.seconds();
}

/// Writes what a merge of pairs delivers, as the format of the result does, without rows that have
/// no pairs.
class MergedRows {
 public:
  MergedRows(const File& file, std::optional<FileForm> form) : out_(file, 0) {
    if (!is_text(form)) return;
    lines_.emplace(PairText{}, ResultIds{}, [this](std::string_view line) { out_.append(line); });
  }

  void append(std::int64_t query, std::span<const std::int64_t> items,
              std::span<const float> scores) {
    if (items.empty()) return;
    if (lines_) {
      lines_->append_row(query, items, scores);
      return;
    }
    for (const std::int64_t item : items)
      out_.append_value(item);
    out_.append(std::as_bytes(scores));
  }
  void finish() { out_.flush(); }

 private:
  FileAppender out_;
  std::optional<PairTextWriter> lines_;
};

/// Seconds for merging the pairs in files of runs, as at the end of a run.
double seconds_of_merge(const JobConfig& config, const RunSetup& setup,
                        const std::vector<std::string>& paths, const std::string& folder,
                        JobContext context) {
  const Plan& plan = setup.plan;
  return seconds_of([&] {
    const PairRuns runs(context.calls, paths, plan.id(), plan.grid);
    const std::int64_t queries = plan.grid.shape().queries;
    PairMerge merge(runs, queries, *plan.filter);
    const auto row_offsets = merge.row_offsets();
    const File file = unnamed_file(context.calls, folder);
    MergedRows rows(file, file_form(config.output));
    merge.run({0, queries},
              plan.filter->keep == Keep::kBest ? PairOrder::kByScore : PairOrder::kByItem,
              [&](std::int64_t query, std::span<const std::int64_t> items,
                  std::span<const float> scores) {
                context.stop.check();
                rows.append(query, items, scores);
              });
    rows.finish();
    file.sync();
  });
}

/// A search for pairs whose time is taken. It must outlive the backend, which may still use its
/// sink when the search is over.
class TimedSearch {
 public:
  TimedSearch(const JobConfig& config, const Plan& plan, const std::string& path,
              JobContext context)
      : file_(context.calls, path, plan.id(), plan.grid.shape()),
        silent_(context.log, 0, 0),
        output_(
            plan.grid, file_, silent_,
            {.commit = config.commit, .mirrored = plan.filter->mirrored, .most_pairs = kEveryRow}),
        sink_(output_, context) {}

  /// Seconds for finding the pairs of these tiles and writing them to the file.
  double run(const RunSetup& setup, const std::vector<std::int64_t>& tiles, PairBackend& backend) {
    const Stopwatch watch;
    PairStream(setup, backend, sink_).run(tiles);
    output_.finish();
    file_.sync();
    return watch.seconds();
  }

 private:
  PairRunFile file_;
  Progress silent_;
  PairOutput output_;
  WatchedSink<PairStripe> sink_;
};

/// The tiles of some rows of tiles, spread over all that have any.
std::vector<std::int64_t> tiles_of_spread_rows(const std::vector<std::int64_t>& share,
                                               const TileGrid& grid, std::int64_t count) {
  std::vector<std::int64_t> rows;
  for (const std::int64_t tile : share)
    rows.push_back(grid.id(tile).row);
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  std::vector<char> taken(grid.rows());
  const std::int64_t all = std::ssize(rows);
  for (std::int64_t at = 0; at < std::min(count, all); ++at)
    taken[rows[at * all / std::min(count, all)]] = 1;
  std::vector<std::int64_t> tiles;
  std::ranges::copy_if(share, std::back_inserter(tiles),
                       [&](std::int64_t tile) { return taken[grid.id(tile).row] != 0; });
  return tiles;
}

/// Searches for the pairs of larger and larger samples. Where there are enough rows of tiles, a
/// sample has whole rows, which all read the same items; otherwise some tiles of more and more
/// columns. The last sample but one tells the work done once.
Samples measure_pairs(const JobConfig& config, const RunSetup& setup,
                      const std::vector<std::int64_t>& all, const std::string& folder,
                      JobContext context) {
  const TileGrid& grid = setup.plan.grid;
  const PairFilterSpec filter = searched_filter(setup, true);
  const auto share = tiles_of(filter, grid, all);
  std::vector<std::unique_ptr<TimedSearch>> searches;
  const auto backend = make_pair_backend(setup, filter);
  const std::string path =
      folder + "/pilot-" + std::to_string(context.mpi.world().rank()) + ".pairs";
  make_directories(context.calls, folder, 0700);
  const bool by_rows = grid.rows() >= kEnoughRows;
  Samples samples;
  samples.tiles = share.size();
  const Stopwatch watch;
  for (std::int64_t size = 1;; size *= kGrowth) {
    remove_file(context.calls, path);
    samples.small =
        std::exchange(samples.large, by_rows ? tiles_of_spread_rows(share, grid, size)
                                             : spread_tiles(share, setup, size, grid.rows()));
    searches.push_back(std::make_unique<TimedSearch>(config, setup.plan, path, context));
    samples.small_seconds =
        std::exchange(samples.large_seconds, searches.back()->run(setup, samples.large, *backend));
    const bool is_whole = samples.large.size() == share.size();
    const bool grew = samples.large.size() > samples.small.size();
    if (is_whole || !grew || watch.seconds() >= kMostPairSeconds) break;
    if (samples.small_seconds > 0.0 && 2 * samples.large.size() >= share.size()) break;
    if (samples.small_seconds > 0.0 &&
        samples.large_seconds - samples.small_seconds >= kPairSeconds) {
      break;
    }
  }
  samples.no_merge_seconds = seconds_of_merge(config, setup, {}, folder, context);
  samples.large_merge_seconds = seconds_of_merge(config, setup, {path}, folder, context);
  return samples;
}

/// Seconds for the block sums of `tiles`.
double seconds_of_sums(const Plan& plan, const PilotOutput& output,
                       const std::vector<std::int64_t>& tiles) {
  const auto alone = make_self_communicator();
  const auto read = [&](TileId tile, std::span<SoftmaxPartial> to) {
    output.read_partials(tile, to);
  };
  return seconds_of([&] { reduce_block_sums(plan, read, tiles, *alone); });
}

Samples measure_tiles(const RunSetup& setup, const std::vector<std::int64_t>& share,
                      const File& file, std::int64_t most_bytes, JobContext context) {
  const Plan& plan = setup.plan;
  Samples samples = choose_samples(setup, share, most_bytes);
  const std::int64_t room =
      std::clamp(most_bytes / stored_bytes(plan), std::int64_t{1}, std::ssize(share)) *
      stored_bytes(plan);
  samples.reserve_seconds = seconds_of([&] { file.reserve(0, room); });
  samples.reserved_bytes = static_cast<double>(room);
  PilotOutput output(file, plan.value_type, room);
  RunSink sink(plan, output, context);
  const auto backend = make_backend(setup);
  samples.small_seconds = seconds_of([&] { stream_tiles(setup, samples.small, *backend, sink); });
  samples.large_seconds = seconds_of([&] { stream_tiles(setup, samples.large, *backend, sink); });
  samples.sync_seconds = seconds_of([&] { file.sync_data(); });
  if (plan.softmax_scale) {
    samples.no_sums_seconds = seconds_of_sums(plan, output, {});
    samples.large_sums_seconds = seconds_of_sums(plan, output, samples.large);
  }
  return samples;
}

/// Seconds for `tiles`, when the work done once takes `fixed` seconds, and that work and `sampled`
/// tiles take `sample` seconds.
double extended(double fixed, double sample, std::size_t sampled, std::size_t tiles) {
  if (sampled == 0) return sample;
  return sample + std::max(0.0, sample - fixed) / static_cast<double>(sampled) *
                      (static_cast<double>(tiles) - static_cast<double>(sampled));
}

/// Seconds for `tiles`, when those for the two samples are `of_small` and `of_large`.
double seconds_for(const Samples& samples, double of_small, double of_large, std::size_t tiles) {
  const std::size_t small = samples.small.size();
  const std::size_t large = samples.large.size();
  if (tiles <= large || large <= small) return of_large;
  return extended(of_small, of_large, large - small, tiles - small);
}

}  // namespace

PilotRun run_pilot(const JobConfig& config, const RunSetup& setup, const std::string& folder,
                   JobContext context) {
  Communicator& comm = context.mpi.world();
  PilotRun pilot;
  if (setup.plan.grid.count() == 0) return pilot;
  const auto shares = share_all_tiles(setup, comm.size());
  const auto& share = shares[comm.rank()];
  const std::int64_t most_bytes = kMostBytes / comm.size();
  Samples samples;
  run_collectively(comm, [&] {
    if (share.empty()) return;
    if (setup.plan.filter) {
      samples = measure_pairs(config, setup, share, folder, context);
    } else {
      const File file = unnamed_file(context.calls, existing_folder(context.calls, config.output));
      samples = measure_tiles(setup, share, file, most_bytes, context);
    }
  });
  pilot.compute_seconds = maximum(
      seconds_for(samples, samples.small_seconds, samples.large_seconds, samples.tiles), comm);
  if (setup.plan.filter) {
    // one rank merges the tiles of all
    pilot.seconds = pilot.compute_seconds +
                    maximum(extended(samples.no_merge_seconds, samples.large_merge_seconds,
                                     samples.large.size(), tiles_of(setup.plan).size()),
                            comm);
    return pilot;
  }
  const auto tile_bytes = static_cast<double>(stored_bytes(setup.plan));
  // bytes that were overwritten went to the disk only once
  const double to_disk =
      sum(std::min(samples.written_tiles() * tile_bytes, samples.reserved_bytes), comm);
  const double sync_seconds = maximum(samples.sync_seconds, comm);
  const double bytes = static_cast<double>(setup.plan.grid.count()) * tile_bytes;
  const double disk_seconds = bytes / to_disk * sync_seconds;
  const double last_group =
      std::min(bytes, static_cast<double>(config.commit.bytes) * static_cast<double>(comm.size()));
  // all groups but the last go to the disk while the next are computed
  pilot.seconds =
      std::max(pilot.compute_seconds + disk_seconds * last_group / bytes, disk_seconds) +
      maximum(samples.reserve_seconds, comm) * bytes / sum(samples.reserved_bytes, comm) +
      maximum(extended(samples.no_sums_seconds, samples.large_sums_seconds, samples.large.size(),
                       share.size()),
              comm);
  pilot.bytes_per_s = bytes / std::max(pilot.seconds, kShortest);
  return pilot;
}

}  // namespace bulksim
