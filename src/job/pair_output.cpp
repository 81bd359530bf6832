#include "job/pair_output.hpp"

#include <utility>

namespace bulksim {

class PairOutput::Writer final : public PairWriter {
 public:
  explicit Writer(PairOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    if (output_.options_.before_tile) output_.options_.before_tile();
    const TileGrid& grid = output_.grid_;
    first_query_ = grid.queries(tile.row).begin;
    first_item_ = grid.items(tile.column).begin;
    run_.clear(grid.number(tile), grid.queries(tile.row).size());
  }

  void write(std::int64_t query, std::span<const ScoredItem> pairs) override {
    run_.counts[static_cast<std::size_t>(query - first_query_)] =
        static_cast<std::uint32_t>(pairs.size());
    for (const ScoredItem& pair : pairs) {
      run_.items.push_back(static_cast<std::uint32_t>(pair.item - first_item_));
      run_.scores.push_back(pair.score);
    }
  }

  void finish() override { output_.tile_done(run_); }

 private:
  PairOutput& output_;
  std::int64_t first_query_ = 0;
  std::int64_t first_item_ = 0;
  PairRun run_;
};

PairOutput::PairOutput(const TileGrid& grid, PairRunFile& file, Progress& progress, Options options)
    : grid_(grid), file_(file), progress_(progress), options_(std::move(options)) {}

std::unique_ptr<PairWriter> PairOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

void PairOutput::tile_done(const PairRun& run) {
  constexpr std::int64_t kPairBytes = 8;
  const std::int64_t pairs = pairs_ += std::ssize(run.items);
  if (kPairBytes * pairs > options_.most_bytes) throw options_.too_much(pairs);
  file_.append(run);
  progress_.tile_done();
  const std::lock_guard lock(sync_mutex_);
  const std::int64_t bytes = file_.bytes();
  if (bytes - synced_bytes_ < options_.commit.bytes &&
      since_sync_.seconds() < options_.commit.seconds) {
    return;
  }
  file_.sync();
  synced_bytes_ = bytes;
  since_sync_ = Stopwatch();
}

}  // namespace bulksim
