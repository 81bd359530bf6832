#include "job/sinks/pair_output.hpp"

#include <algorithm>
#include <utility>

namespace bulksim {

namespace {

constexpr double kSecondsOfARun = 1.0;

/// Pairs of one query, at `at` among those of a stream.
struct Stripe {
  std::int64_t query;
  std::int64_t first_item;
  std::size_t at;
  std::size_t pairs;
};

}  // namespace

/// The pairs of finished tiles that are not in the file yet, and of the tiles at work.
class PairOutput::Stream {
 public:
  explicit Stream(PairOutput& output) : output_(output), number_(output.file_.begin_stream()) {}

  void begin(PairWork work) {
    if (output_.options_.before_tiles && work.stage != PairWork::Stage::kLists) {
      output_.options_.before_tiles(work.tiles);
    }
    work_ = work;
  }

  void write(const PairStripe& stripe) {
    const auto& [query, pairs] = stripe;
    stripes_.push_back({query, pairs.front().item, items_.size(), pairs.size()});
    for (const ScoredItem& pair : pairs) {
      items_.push_back(pair.item);
      scores_.push_back(pair.score);
    }
    if (output_.options_.mirrored) mirror(query, pairs);
    if (std::ssize(items_) < kPairsOfARun) return;
    append_finished();
    if (std::ssize(items_) < kPairsOfARun) return;
    append(std::exchange(stripes_, {}), true);
    items_.clear();
    scores_.clear();
    is_continued_ = true;
  }

  void finish_tiles() {
    if (work_.stage != PairWork::Stage::kLists) output_.progress_.add(std::ssize(work_.tiles));
    if (work_.stage == PairWork::Stage::kSearch) return;
    for (const TileId& tile : work_.tiles)
      numbers_.push_back(output_.grid_.number(tile));
    finished_ = stripes_.size();
    const double most = std::min(kSecondsOfARun, output_.options_.commit.seconds);
    if (is_continued_ || since_append_.seconds() >= most) append_finished();
  }

  /// Appends the pairs of finished tiles.
  void append_finished() {
    if (numbers_.empty()) return;
    const auto end = stripes_.begin() + finished_;
    std::vector<Stripe> finished(stripes_.begin(), end);
    stripes_.erase(stripes_.begin(), end);
    finished_ = 0;
    append(std::move(finished), false);
    is_continued_ = false;
    numbers_.clear();
    since_append_ = Stopwatch();
    // what is left moves to the front
    const std::size_t first = stripes_.empty() ? items_.size() : stripes_.front().at;
    items_.erase(items_.begin(), items_.begin() + first);
    scores_.erase(scores_.begin(), scores_.begin() + first);
    for (Stripe& stripe : stripes_)
      stripe.at -= first;
  }

 private:
  /// The mirror image of each pair, except of a row with itself, is a stripe of its own.
  void mirror(std::int64_t query, std::span<const ScoredItem> pairs) {
    for (const ScoredItem& pair : pairs) {
      if (pair.item == query) continue;
      stripes_.push_back({pair.item, query, items_.size(), 1});
      items_.push_back(query);
      scores_.push_back(pair.score);
    }
  }

  void append(std::vector<Stripe> stripes, bool ends_open) {
    run_.clear();
    if (!ends_open) name_tiles();
    std::ranges::sort(stripes, {}, [](const Stripe& stripe) {
      return std::pair(stripe.query, stripe.first_item);
    });
    for (const Stripe& stripe : stripes) {
      if (run_.rows.empty() || run_.rows.back() != stripe.query) {
        run_.rows.push_back(stripe.query);
        run_.counts.push_back(0);
      }
      run_.counts.back() += static_cast<std::uint32_t>(stripe.pairs);
      const auto items = items_.begin() + stripe.at;
      const auto scores = scores_.begin() + stripe.at;
      run_.items.insert(run_.items.end(), items, items + stripe.pairs);
      run_.scores.insert(run_.scores.end(), scores, scores + stripe.pairs);
    }
    output_.count(std::ssize(run_.items));
    output_.append(run_, number_, ends_open);
  }

  void name_tiles() {
    std::ranges::sort(numbers_);
    for (const std::int64_t number : numbers_) {
      if (run_.tiles.empty() || run_.tiles.back().end != number) {
        run_.tiles.push_back({number, number});
      }
      ++run_.tiles.back().end;
    }
  }

  PairOutput& output_;
  std::uint32_t number_;
  PairWork work_;                      // begun last
  bool is_continued_ = false;          // some pairs of the tiles at work are in the file
  std::vector<std::int64_t> numbers_;  // of finished tiles
  std::vector<Stripe> stripes_;
  std::size_t finished_ = 0;  // stripes of finished tiles; they come first
  std::vector<std::int64_t> items_;
  std::vector<float> scores_;
  PairRun run_;
  Stopwatch since_append_;
};

class PairOutput::Writer final : public PairWriter {
 public:
  explicit Writer(PairOutput& output) : output_(output), stream_(output.take_stream()) {}
  ~Writer() override {
    const std::lock_guard lock(output_.streams_mutex_);
    output_.idle_.push_back(stream_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void begin(PairWork work) override { stream_->begin(work); }
  void write(const PairStripe& stripe) override { stream_->write(stripe); }
  void finish() override { stream_->finish_tiles(); }

 private:
  PairOutput& output_;
  Stream* stream_;
};

PairOutput::PairOutput(const TileGrid& grid, PairRunFile& file, Progress& progress, Options options)
    : grid_(grid), file_(file), progress_(progress), options_(std::move(options)) {}

std::unique_ptr<PairWriter> PairOutput::make_writer() {
  return std::make_unique<Writer>(*this);
}

PairOutput::~PairOutput() = default;

PairOutput::Stream* PairOutput::take_stream() {
  const std::lock_guard lock(streams_mutex_);
  if (idle_.empty()) {
    streams_.push_back(std::make_unique<Stream>(*this));
    return streams_.back().get();
  }
  Stream* stream = idle_.back();
  idle_.pop_back();
  return stream;
}

void PairOutput::finish() {
  for (const auto& stream : streams_)
    stream->append_finished();
}

void PairOutput::count(std::int64_t pairs) {
  const std::int64_t all = pairs_ += pairs;
  if (all > options_.most_pairs) throw options_.too_much(all);
}

void PairOutput::append(const PairRun& run, std::uint32_t stream, bool ends_open) {
  file_.append(run, stream, ends_open);
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
