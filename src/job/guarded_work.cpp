#include "job/guarded_work.hpp"

#include <optional>
#include <utility>

#include "bulksim/core/failpoint.hpp"

namespace bulksim {

namespace {

/// What goes with every tile from its beginning to its end.
class TileGuard {
 public:
  explicit TileGuard(JobContext context) : context_(context) {}

  void begin(TileId tile) {
    context_.stop.check();
    watch_.reset();
    watch_.emplace(context_.watchdog, Work{.activity = Activity::kTile, .tile = tile});
    pass_failpoint("tile.begin");
  }
  void finish() {
    pass_failpoint("tile.finish");
    watch_.reset();
  }

 private:
  JobContext context_;
  std::optional<Watchdog::Watch> watch_;
};

}  // namespace

class GuardedSink::Writer final : public TileWriter {
 public:
  Writer(std::unique_ptr<TileWriter> writer, JobContext context)
      : writer_(std::move(writer)), guard_(context) {}

  void begin(TileId tile) override {
    guard_.begin(tile);
    writer_->begin(tile);
  }

  void write(const TileStripe& stripe) override {
    pass_failpoint("tile.write");
    writer_->write(stripe);
  }

  void finish() override {
    writer_->finish();
    guard_.finish();
  }

 private:
  std::unique_ptr<TileWriter> writer_;
  TileGuard guard_;
};

std::unique_ptr<TileWriter> GuardedSink::make_writer() {
  return std::make_unique<Writer>(sink_.make_writer(), context_);
}

class GuardedPairSink::Writer final : public PairWriter {
 public:
  Writer(std::unique_ptr<PairWriter> writer, JobContext context)
      : writer_(std::move(writer)), guard_(context) {}

  void begin(TileId tile) override {
    guard_.begin(tile);
    writer_->begin(tile);
  }
  void write(std::int64_t query, std::span<const ScoredItem> pairs) override {
    writer_->write(query, pairs);
  }
  void finish() override {
    writer_->finish();
    guard_.finish();
  }

 private:
  std::unique_ptr<PairWriter> writer_;
  TileGuard guard_;
};

std::unique_ptr<PairWriter> GuardedPairSink::make_writer() {
  return std::make_unique<Writer>(sink_.make_writer(), context_);
}

std::function<void(TileId, std::span<float>)> before_checks() {
  auto spoil = failing_values("tile.values");
  if (!spoil) return nullptr;
  return [spoil = std::move(spoil)](TileId, std::span<float> values) { spoil(values); };
}

namespace {

class StoppableSource final : public MatrixSource {
 public:
  StoppableSource(std::unique_ptr<MatrixSource> source, const StopRequest& stop)
      : source_(std::move(source)), stop_(stop) {}

  const MatrixInfo& info() const override { return source_->info(); }
  void read(RowRange range, CsrMatrix& out) const override {
    stop_.check();
    pass_failpoint("input.read");
    source_->read(range, out);
  }
  const RowSurvey* survey() const override { return source_->survey(); }
  TextList ids() const override { return source_->ids(); }
  TextList terms() const override { return source_->terms(); }

 private:
  std::unique_ptr<MatrixSource> source_;
  const StopRequest& stop_;
};

}  // namespace

std::unique_ptr<MatrixSource> stoppable(std::unique_ptr<MatrixSource> source,
                                        const StopRequest& stop) {
  return std::make_unique<StoppableSource>(std::move(source), stop);
}

}  // namespace bulksim
