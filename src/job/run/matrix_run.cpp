#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "comm/collective_error.hpp"
#include "core/text/format_text.hpp"
#include "job/blocks/block_reduction.hpp"
#include "job/input/row_ids.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/tile_partition.hpp"
#include "job/publish/publication.hpp"
#include "job/run/compute_tiles.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/pilot_run.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/run_session.hpp"
#include "job/run/runs.hpp"
#include "job/run/stream_tiles.hpp"
#include "storage/parts/partial_files.hpp"

namespace bulksim {

namespace {

/// A pilot run takes a second: below this size, a run does not take much longer.
constexpr std::int64_t kWorthAPilotRun = std::int64_t{8} << 30;

/// Adds the digests of the tiles that all ranks have computed to those of earlier attempts, at
/// rank 0.
void gather_digests(const std::vector<std::int64_t>& tiles, const std::vector<Digest>& digests,
                    const std::vector<std::vector<std::int64_t>>& shares, Communicator& comm,
                    std::vector<Digest>& all) {
  std::vector<Digest> mine;
  for (const std::int64_t tile : tiles)
    mine.push_back(digests[tile]);
  const auto gathered = comm.gather(bytes_of(mine));
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    const auto* of_rank = reinterpret_cast<const Digest*>(gathered[rank].data());
    for (std::size_t at = 0; at < shares[rank].size(); ++at) {
      all[shares[rank][at]] = of_rank[at];
    }
  }
}

/// The tiles that were done before.
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

/// One run, step by step; later steps use the results of earlier ones.
class MatrixRun {
 public:
  MatrixRun(const SeedStaging& seed, RunSession& session) : seed_(seed), session_(session) {}

  std::string run();

 private:
  const Plan& plan() const { return session_.plan(); }
  void check_size();
  void log_expected_time();
  void resume();
  void compute();
  void sum_blocks(std::vector<std::int64_t> tiles);
  std::string publish_as_rank_0();

  const SeedStaging& seed_;
  RunSession& session_;
  PartSet parts_;
  TilesLeft work_;
  std::int64_t outside_ = 0;  ///< values of this attempt that are not scores
  std::optional<BlockMap> blocks_;
};

std::string MatrixRun::run() {
  session_.set_up();
  std::string published = session_.find_published();
  if (!published.empty()) return published;
  parts_ = make_layout(plan(), *session_.directory);
  check_size();
  session_.take_output();
  log_expected_time();
  resume();
  if (!work_.result.empty()) return work_.result;
  if (!work_.finalized) compute();
  session_.report.output_bytes = output_bytes(plan().grid, parts_);
  return session_.publish("publish", [this] { return publish_as_rank_0(); });
}

void MatrixRun::check_size() {
  run_collectively(session_.comm(), [&] {
    if (session_.comm().rank() != 0) return;
    check_output_size(session_.config, plan(), parts_, session_.context);
  });
}

void MatrixRun::log_expected_time() {
  if (output_bytes(plan().grid, parts_) < kWorthAPilotRun) return;
  const PilotRun pilot = run_pilot(session_.config, session_.setup, "", session_.context);
  session_.context.log.info("expected_time", "this will take about " + duration_text(pilot.seconds),
                            {{"seconds", pilot.seconds}});
}

void MatrixRun::resume() {
  work_ = resume_tiles(session_.config, plan(), parts_, *session_.directory,
                       session_.setup.resources.threads, seed_, session_.context);
  session_.begin_attempt(work_);
  session_.report.rehashed_tiles = work_.rehashed;
  session_.report.damaged_tiles = work_.damaged;
}

void MatrixRun::compute() {
  Communicator& comm = session_.comm();
  const auto shares = share_tiles(work_.to_do, plan(), session_.setup.surveys.items, comm.size());
  const auto& tiles = shares[comm.rank()];
  session_.begin("compute");
  const TileOutcome outcome =
      compute_tiles({session_.config, session_.setup, parts_,
                     session_.directory->journal_path(work_.attempt, comm.rank()), work_.attempt,
                     session_.before_tile(), tiles, std::ssize(work_.to_do)},
                    session_.timer, session_.context);
  comm.wait_for_all();
  session_.report.take(outcome);
  end_if_stopped(outcome.stopped, outcome.done, work_.resumed, plan().grid.count(),
                 session_.context);
  std::array<std::int64_t, 1> outside{outcome.outside};
  comm.all_reduce_sum(outside);
  outside_ = outside[0];
  gather_digests(tiles, outcome.digests, shares, comm, work_.digests);
  if (parts_.has_partials()) sum_blocks(tiles);
}

/// `tiles` are those that this rank computed; those of earlier attempts are shared among the ranks.
void MatrixRun::sum_blocks(std::vector<std::int64_t> tiles) {
  session_.timer.begin("block sums");
  Communicator& comm = session_.comm();
  const RunSetup& setup = session_.setup;
  const auto earlier = share_tiles(done_before(work_.to_do, plan().grid.count()), plan(),
                                   setup.surveys.items, comm.size());
  const auto& mine = earlier[comm.rank()];
  tiles.insert(tiles.end(), mine.begin(), mine.end());
  PartialFiles partials(session_.context.calls, plan().grid, parts_.partials, parts_.layouts,
                        TileAccess::kRead);
  Communicator& sums = setup.devices.world ? *setup.devices.world : comm;
  blocks_ = reduce_block_sums(
      plan(), [&](TileId tile, std::span<SoftmaxPartial> to) { partials.read(tile, to); }, tiles,
      sums);
}

std::string MatrixRun::publish_as_rank_0() {
  RunDirectory& directory = *session_.directory;
  FileCalls& calls = session_.context.calls;
  if (work_.finalized) return directory.publish_finalized(session_.still_ours());
  const RunSetup& setup = session_.setup;
  Publication publication{session_.config,
                          plan(),
                          parts_,
                          work_.digests,
                          std::nullopt,
                          setup.counts().zero_rows,
                          [&] { return reread_result_ids(session_); },
                          session_.report.to_json(session_.timer),
                          setup.resources.threads,
                          session_.still_ours()};
  if (blocks_) {
    publication.blocks = &*blocks_;
  } else if (setup.estimate) {
    publication.blocks = &*setup.estimate;
  }
  if (work_.resumed == 0) publication.outside = outside_;
  return publish(directory, publication, calls);
}

}  // namespace

std::string run_matrix(const JobConfig& config, const SeedStaging& seed, JobContext context) {
  RunSession session(config, context);
  MatrixRun run(seed, session);
  return run_with_metrics(session, [&] { return run.run(); });
}

}  // namespace bulksim
