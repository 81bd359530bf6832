#include "job/sinks/watched_sink.hpp"

#include <optional>
#include <utility>

#include "bulksim/backend/pair_backend.hpp"
#include "core/files/failpoint.hpp"

namespace bulksim {

namespace {

TileId first_tile(TileId tile) {
  return tile;
}
TileId first_tile(const PairWork& work) {
  return work.tiles.front();
}

/// Watches every tile, or group of tiles, from its beginning to its end.
template <class Stripe>
class WatchedWriter final : public Writer<Stripe> {
 public:
  WatchedWriter(std::unique_ptr<Writer<Stripe>> writer, JobContext context)
      : writer_(std::move(writer)), context_(context) {}

  void begin(typename Stripe::Work work) override {
    context_.stop.check();
    watch_.reset();
    watch_.emplace(context_.watchdog, Work{.activity = Activity::kTile, .tile = first_tile(work)});
    pass_failpoint("tile.begin");
    writer_->begin(work);
  }
  void write(const Stripe& stripe) override {
    pass_failpoint("tile.write");
    writer_->write(stripe);
  }
  void finish() override {
    writer_->finish();
    pass_failpoint("tile.finish");
    watch_.reset();
  }

 private:
  std::unique_ptr<Writer<Stripe>> writer_;
  JobContext context_;
  std::optional<Watchdog::Watch> watch_;
};

}  // namespace

template <class Stripe>
std::unique_ptr<Writer<Stripe>> WatchedSink<Stripe>::make_writer() {
  return std::make_unique<WatchedWriter<Stripe>>(sink_.make_writer(), context_);
}

template class WatchedSink<TileStripe>;
template class WatchedSink<PairStripe>;

}  // namespace bulksim
