#include "job/sinks/pair_output.hpp"

#include <algorithm>
#include <utility>

namespace bulksim {

class PairOutput::Writer final : public PairWriter {
 public:
  explicit Writer(PairOutput& output) : output_(output) {}

  void begin(TileId tile) override {
    if (output_.options_.before_tile) output_.options_.before_tile();
    const TileGrid& grid = output_.grid_;
    queries_ = grid.queries(tile.row);
    items_ = grid.items(tile.column);
    segment_.clear(grid.number(tile), queries_.size());
    last_query_ = queries_.begin;
    turn_ = 0;
  }

  void write(const PairStripe& stripe) override {
    const auto& [query, pairs] = stripe;
    if (query < last_query_) turn_ = std::ssize(segment_.items);
    last_query_ = query;
    segment_.counts[query - queries_.begin] = static_cast<std::uint32_t>(pairs.size());
    for (const ScoredItem& pair : pairs) {
      segment_.items.push_back(static_cast<std::uint32_t>(pair.item - items_.begin));
      segment_.scores.push_back(pair.score);
    }
  }

  void finish() override {
    std::ranges::rotate(segment_.items, segment_.items.begin() + turn_);
    std::ranges::rotate(segment_.scores, segment_.scores.begin() + turn_);
    if (output_.options_.mirrored) segment_.add_mirror_image(queries_, items_);
    output_.tile_done(segment_);
  }

 private:
  PairOutput& output_;
  RowRange queries_;  // of the tile
  RowRange items_;
  PairSegment segment_;
  std::int64_t last_query_ = 0;
  std::int64_t turn_ = 0;  // where the pairs of the first rows begin
};

PairOutput::PairOutput(const TileGrid& grid, PairSegmentFile& file, Progress& progress,
                       Options options)
    : grid_(grid), file_(file), progress_(progress), options_(std::move(options)) {}

std::unique_ptr<PairWriter> PairOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

void PairOutput::tile_done(const PairSegment& segment) {
  const std::int64_t pairs = pairs_ += std::ssize(segment.items);
  if (pairs > options_.most_pairs) throw options_.too_much(pairs);
  file_.append(segment);
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
