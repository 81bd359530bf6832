#include "job/trial.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string>

#include <unistd.h>

#include "bulksim/core/phase_timer.hpp"
#include "bulksim/job/agreement.hpp"
#include "job/publication.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
constexpr std::int64_t kTilesOfARun = 8;  // of one column of tiles, as the backend takes them
// The system begins to write in the background when this share of the memory waits for the disk.
constexpr double kBackgroundShare = 0.1;

/// Writes finished stripes one behind the other and starts again when the file is full.
class TrialOutput final : public TileSink {
 public:
  TrialOutput(const File& file, std::int64_t most) : file_(file), most_(most) {}

  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(TrialOutput& output) : output_(output) {}
    void begin(TileId /*tile*/) override { hasher_.reset(); }
    void write(const TileStripe& stripe) override {
      const auto bytes = std::as_bytes(stripe.values);
      hasher_.update(bytes);
      const std::int64_t at =
          output_.next_.fetch_add(static_cast<std::int64_t>(bytes.size())) % output_.most_;
      output_.file_.write(bytes, at);
    }
    void finish() override { hasher_.digest(); }

   private:
    TrialOutput& output_;
    Hasher hasher_;
  };

  const File& file_;
  std::int64_t most_;
  std::atomic<std::int64_t> next_ = 0;
};

/// An open file without a name: nothing is left of it, whatever happens.
File unnamed_file(FileCalls& calls, const std::string& folder) {
  try {
    return File::open(calls, folder, O_TMPFILE | O_RDWR, 0600);
  } catch (const Error&) {
    // not every file system has O_TMPFILE: a file that loses its name at once
    const std::string path = folder + "/.bulksim-trial-" + std::to_string(getpid());
    File file = File::open(calls, path, O_CREAT | O_EXCL | O_RDWR, 0600);
    calls.unlink(path.c_str());
    return file;
  }
}

/// Up to `count` runs of neighbouring tiles of one column, spread over the share of a rank.
std::vector<std::int64_t> spread_tiles(const std::vector<std::int64_t>& share, const TileGrid& grid,
                                       std::int64_t runs) {
  const std::int64_t length = std::min(grid.rows(), kTilesOfARun);
  std::vector<std::int64_t> tiles;
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto size = static_cast<std::int64_t>(share.size());
    for (std::int64_t at = size * run / runs, taken = 0; at < size && taken < length;
         ++at, ++taken) {
      if (tiles.empty() || share[static_cast<std::size_t>(at)] > tiles.back()) {
        tiles.push_back(share[static_cast<std::size_t>(at)]);
      }
    }
  }
  return tiles;
}

double maximum(double seconds, Communicator& comm) {
  std::array<std::int64_t, 1> microseconds{std::llround(seconds * 1e6)};
  comm.all_reduce_max(microseconds);
  return static_cast<double>(microseconds[0]) * 1e-6;
}

/// What one rank measured: two samples, so that what is done once a run can be told from what is
/// done for each tile.
struct Samples {
  std::size_t small_tiles = 0;
  std::size_t large_tiles = 0;
  double small_seconds = 0.0;
  double large_seconds = 0.0;
  double sync_seconds = 0.0;
};

Samples measure(const RunSetup& setup, const std::vector<std::int64_t>& share, const File& file,
                std::int64_t most_bytes, JobContext context) {
  const TileGrid& grid = setup.plan.grid;
  const std::int64_t tile_bytes = grid.tile().cells() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t run_bytes = tile_bytes * std::min(grid.rows(), kTilesOfARun);
  const auto small = spread_tiles(share, grid, 1);
  const auto large = spread_tiles(share, grid, std::max<std::int64_t>(2, most_bytes / run_bytes));
  TrialOutput output(file, std::max(most_bytes / tile_bytes, std::int64_t{1}) * tile_bytes);
  RunSink sink(setup.plan, output, context);
  const auto backend = make_cpu_backend({grid, setup.plan.arithmetic, setup.resources.threads});
  Samples samples{small.size(), large.size(), 0.0, 0.0, 0.0};
  const Stopwatch small_watch;
  stream_tiles(setup, small, *backend, sink);
  samples.small_seconds = small_watch.seconds();
  const Stopwatch large_watch;
  stream_tiles(setup, large, *backend, sink);
  samples.large_seconds = large_watch.seconds();
  const Stopwatch sync_watch;
  file.sync_data();
  samples.sync_seconds = sync_watch.seconds();
  return samples;
}

double seconds_for(const Samples& samples, std::size_t tiles) {
  if (tiles <= samples.large_tiles || samples.large_tiles <= samples.small_tiles) {
    return samples.large_seconds;
  }
  const double a_tile = std::max(0.0, samples.large_seconds - samples.small_seconds) /
                        static_cast<double>(samples.large_tiles - samples.small_tiles);
  return samples.large_seconds + a_tile * static_cast<double>(tiles - samples.large_tiles);
}

}  // namespace

Trial run_trial(const JobConfig& config, const RunSetup& setup, JobContext context) {
  Communicator& comm = context.mpi.world();
  Trial trial;
  if (setup.plan.grid.count() == 0) return trial;
  const auto shares = share_all_tiles(setup, comm.size());
  const auto& share = shares[static_cast<std::size_t>(comm.rank())];
  Samples samples;
  together(comm, [&] {
    if (share.empty()) return;
    const File file = unnamed_file(context.calls, existing_folder(context.calls, config.output));
    samples = measure(setup, share, file, kMostBytes / comm.size(), context);
  });
  trial.compute_seconds = maximum(seconds_for(samples, share.size()), comm);
  const double tile_bytes = 4.0 * static_cast<double>(setup.plan.grid.tile().cells());
  std::array<std::int64_t, 1> written{
      static_cast<std::int64_t>(samples.small_tiles + samples.large_tiles)};
  comm.all_reduce_sum(written);
  const double sync_seconds = maximum(samples.sync_seconds, comm);
  const double pass_seconds = maximum(samples.small_seconds + samples.large_seconds, comm);
  trial.bytes_per_s =
      static_cast<double>(written[0]) * tile_bytes / std::max(sync_seconds, pass_seconds);
  const double bytes = static_cast<double>(setup.plan.grid.count()) * tile_bytes;
  const double disk_seconds = bytes / (static_cast<double>(written[0]) * tile_bytes) * sync_seconds;
  const bool in_background = bytes > kBackgroundShare * static_cast<double>(setup.resources.memory);
  trial.seconds = in_background ? std::max(trial.compute_seconds, disk_seconds)
                                : trial.compute_seconds + disk_seconds;
  return trial;
}

}  // namespace bulksim
