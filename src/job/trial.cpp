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
constexpr double kShortest = 1e-6;           // seconds
constexpr std::int64_t kTilesOfAColumn = 4;  // enough to share the work that is done once for each

/// Writes finished stripes one behind the other and starts again when the file is full.
class TrialOutput final : public TileSink {
 public:
  TrialOutput(const File& file, ValueType type, std::int64_t most)
      : file_(file), type_(type), most_(most) {}

  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(TrialOutput& output) : output_(output) {}
    void begin(TileId /*tile*/) override { hasher_.reset(); }
    void write(const TileStripe& stripe) override {
      const auto size = stripe.values.size() * static_cast<std::size_t>(bytes_of(output_.type_));
      const auto bytes = std::as_bytes(stripe.values).first(size);
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
  ValueType type_;
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

/// Tiles of up to `runs` chunks spread over the share of a rank: of each column of a chunk a few,
/// so that every thread has a column to work on, as in a run.
std::vector<std::int64_t> spread_tiles(const std::vector<std::int64_t>& share,
                                       const RunSetup& setup, std::int64_t runs) {
  const TileGrid& grid = setup.plan.grid;
  const std::int64_t size = std::ssize(share);
  std::vector<std::int64_t> tiles;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t first = size * run / runs;
    const std::int64_t end_column =
        grid.id(share[static_cast<std::size_t>(first)]).column + setup.schedule.chunk_columns;
    std::vector<std::int64_t> taken(static_cast<std::size_t>(setup.schedule.chunk_columns));
    for (std::int64_t at = first; at < size; ++at) {
      const std::int64_t number = share[static_cast<std::size_t>(at)];
      const std::int64_t place = end_column - grid.id(number).column - 1;
      if (place < 0) break;
      if (!tiles.empty() && number <= tiles.back()) continue;
      if (taken[static_cast<std::size_t>(place)]++ < kTilesOfAColumn) tiles.push_back(number);
    }
  }
  return tiles;
}

std::int64_t bytes_of_a_tile(const Plan& plan) {
  return plan.grid.tile().cells() * bytes_of(plan.value_type);
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

/// What one rank measured: two samples, so that what is done once a run can be told from what is
/// done for each tile.
struct Samples {
  std::size_t small_tiles = 0;
  std::size_t large_tiles = 0;
  double reserved_bytes = 0.0;
  double reserve_seconds = 0.0;
  double small_seconds = 0.0;
  double large_seconds = 0.0;
  double sync_seconds = 0.0;
};

Samples measure(const RunSetup& setup, const std::vector<std::int64_t>& share, const File& file,
                std::int64_t most_bytes, JobContext context) {
  const std::int64_t tile_bytes = bytes_of_a_tile(setup.plan);
  const std::int64_t bytes =
      std::clamp(most_bytes / tile_bytes, std::int64_t{1}, std::ssize(share)) * tile_bytes;
  Samples samples;
  const Stopwatch reserve_watch;
  file.reserve(0, bytes);
  samples.reserve_seconds = reserve_watch.seconds();
  samples.reserved_bytes = static_cast<double>(bytes);
  const auto small = spread_tiles(share, setup, 1);
  const auto small_bytes = std::ssize(small) * tile_bytes;
  const auto large =
      spread_tiles(share, setup, std::max<std::int64_t>(2, most_bytes / small_bytes - 1));
  samples.small_tiles = small.size();
  samples.large_tiles = large.size();
  TrialOutput output(file, setup.plan.value_type, bytes);
  RunSink sink(setup.plan, output, context);
  const auto backend = make_backend(setup.plan, setup.resources);
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
  const auto tile_bytes = static_cast<double>(bytes_of_a_tile(setup.plan));
  const double written =
      static_cast<double>(samples.small_tiles + samples.large_tiles) * tile_bytes;
  // what was written over another time went to the disk only once
  const double to_disk = sum(std::min(written, samples.reserved_bytes), comm);
  const double sync_seconds = maximum(samples.sync_seconds, comm);
  const double bytes = static_cast<double>(setup.plan.grid.count()) * tile_bytes;
  const double disk_seconds = bytes / to_disk * sync_seconds;
  const double last_group =
      std::min(bytes, static_cast<double>(config.commit.bytes) * static_cast<double>(comm.size()));
  // all groups but the last go to the disk while the next are computed
  trial.seconds =
      std::max(trial.compute_seconds + disk_seconds * last_group / bytes, disk_seconds) +
      maximum(samples.reserve_seconds, comm) * bytes / sum(samples.reserved_bytes, comm);
  trial.bytes_per_s = bytes / std::max(trial.seconds, kShortest);
  return trial;
}

}  // namespace bulksim
