#include "job/sinks/watched_sink.hpp"

#include <optional>
#include <utility>

#include "core/files/failpoint.hpp"

namespace bulksim {

namespace {

/// What goes with every tile from its beginning to its end, around a writer of any kind.
template <class Writer>
class Guarded : public Writer {
 public:
  Guarded(std::unique_ptr<Writer> writer, JobContext context)
      : writer_(std::move(writer)), context_(context) {}

  void begin(TileId tile) final {
    context_.stop.check();
    watch_.reset();
    watch_.emplace(context_.watchdog, Work{.activity = Activity::kTile, .tile = tile});
    pass_failpoint("tile.begin");
    writer_->begin(tile);
  }
  void finish() final {
    writer_->finish();
    pass_failpoint("tile.finish");
    watch_.reset();
  }

 protected:
  Writer& writer() { return *writer_; }

 private:
  std::unique_ptr<Writer> writer_;
  JobContext context_;
  std::optional<Watchdog::Watch> watch_;
};

class GuardedTileWriter final : public Guarded<TileWriter> {
 public:
  using Guarded::Guarded;

  void write(const TileStripe& stripe) override {
    pass_failpoint("tile.write");
    writer().write(stripe);
  }
};

class GuardedPairWriter final : public Guarded<PairWriter> {
 public:
  using Guarded::Guarded;

  void write(std::int64_t query, std::span<const ScoredItem> pairs) override {
    writer().write(query, pairs);
  }
};

}  // namespace

std::unique_ptr<TileWriter> GuardedSink::make_writer() {
  return std::make_unique<GuardedTileWriter>(sink_.make_writer(), context_);
}

std::unique_ptr<PairWriter> GuardedPairSink::make_writer() {
  return std::make_unique<GuardedPairWriter>(sink_.make_writer(), context_);
}

}  // namespace bulksim
