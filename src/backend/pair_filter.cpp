#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/best_preferences.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kValuesAtOnce = 64;

/// Takes the wanted pairs from finished tiles.
class PairFilter final : public TileSink {
 public:
  PairFilter(const TileGrid& grid, const ResultCut& cut) : grid_(grid), cut_(cut) {}

  void begin_queries(RowRange queries, PairSink& sink) {
    queries_ = queries;
    sink_ = &sink;
    best_.reset();
    if (cut_.keep != Keep::kAll) best_.emplace(queries.size(), cut_.count);
  }

  std::unique_ptr<TileWriter> make_writer() override;

  PairWork work() const {
    const std::int64_t cells = cells_;
    return {.cells = cells, .candidates = cells};
  }

 private:
  class Writer;

  TileGrid grid_;
  ResultCut cut_;
  RowRange queries_;
  PairSink* sink_ = nullptr;
  std::optional<BestPreferences> best_;
  std::atomic<std::int64_t> cells_ = 0;
};

class PairFilter::Writer final : public TileWriter {
 public:
  explicit Writer(PairFilter& filter) : filter_(filter), writer_(filter.sink_->make_writer()) {}

  void begin(TileId tile) override {
    tile_ = tile;
    offers_.clear();
    offered_.clear();
    writer_->begin(tile);
  }

  void write(const TileStripe& stripe) override {
    const RowRange rows = filter_.grid_.queries(tile_.row);
    const std::int64_t width = filter_.grid_.tile().items;
    for (std::int64_t row = 0; row < stripe.rows; ++row) {
      const std::int64_t query = rows.begin + stripe.first_row + row;
      if (query >= rows.end) break;
      filter_row(query, stripe.values.data() + row * width);
      if (!pairs_.empty()) writer_->write(query, pairs_);
    }
  }

  void finish() override {
    writer_->finish();
    std::size_t begin = 0;
    for (const auto& [row, end] : offered_) {
      filter_.best_->offer(row, std::span(offers_).subspan(begin, end - begin));
      begin = end;
    }
    filter_.cells_ +=
        filter_.grid_.queries(tile_.row).size() * filter_.grid_.items(tile_.column).size();
  }

 private:
  void filter_row(std::int64_t query, const float* values) {
    const RowRange items = filter_.grid_.items(tile_.column);
    const ResultCut& cut = filter_.cut_;
    pairs_.clear();
    for (std::int64_t first = 0; first < items.size(); first += kValuesAtOnce) {
      const std::int64_t end = std::min(first + kValuesAtOnce, items.size());
      // most stretches hold nothing that is wanted: one test for all, without a branch
      std::int32_t passing = 0;
      for (std::int64_t at = first; at < end; ++at) {
        passing += (values[at] >= cut.at_least) & (values[at] < cut.below) &
                   (!cut.nonzero_only | (values[at] != 0.0f));
      }
      if (passing == 0) continue;
      for (std::int64_t at = first; at < end; ++at) {
        if (cut.admits(query, items.begin + at, values[at])) {
          pairs_.push_back({items.begin + at, values[at]});
        }
      }
    }
    if (cut.keep != Keep::kAll) keep_preferred(query);
  }

  void keep_preferred(std::int64_t query) {
    const ResultCut& cut = filter_.cut_;
    const std::int64_t row = query - filter_.queries_.begin;
    const std::uint64_t floor = filter_.best_->floor(row);
    const std::size_t begin = offers_.size();
    std::erase_if(pairs_, [&](const ScoredItem& pair) {
      const std::uint64_t key = preference(cut, query, pair.item, pair.score);
      if (key > floor) offers_.push_back(key);
      return key <= floor;
    });
    const auto count = static_cast<std::size_t>(cut.count);
    if (offers_.size() - begin > count) {
      const auto first = offers_.begin() + static_cast<std::ptrdiff_t>(begin);
      std::nth_element(first, first + cut.count - 1, offers_.end(), std::greater<>());
      const std::uint64_t least = offers_[begin + count - 1];
      offers_.resize(begin + count);
      std::erase_if(pairs_, [&](const ScoredItem& pair) {
        return preference(cut, query, pair.item, pair.score) < least;
      });
    }
    offered_.emplace_back(row, offers_.size());
  }

  PairFilter& filter_;
  std::unique_ptr<PairWriter> writer_;
  TileId tile_;
  std::vector<ScoredItem> pairs_;
  std::vector<std::uint64_t> offers_;  // of the tile, until its checks have held
  std::vector<std::pair<std::int64_t, std::size_t>> offered_;  // row and end of its offers
};

std::unique_ptr<TileWriter> PairFilter::make_writer() {
  return std::make_unique<Writer>(*this);
}

class FilteringBackend final : public PairBackend {
 public:
  FilteringBackend(std::unique_ptr<SimilarityBackend> backend, const TileGrid& grid,
                   const ResultCut& cut)
      : filter_(grid, cut), backend_(std::move(backend)) {}

  std::string description() const override { return backend_->description(); }
  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    backend_->drain();
    filter_.begin_queries(queries.range, sink);
    backend_->set_queries(queries, filter_);
  }
  void submit(ItemChunk chunk) override { backend_->submit(std::move(chunk)); }
  void drain() override { backend_->drain(); }
  std::int64_t recomputed_tiles() const override { return backend_->recomputed_tiles(); }
  PairWork work() const override { return filter_.work(); }

 private:
  PairFilter filter_;
  std::unique_ptr<SimilarityBackend> backend_;  // last: it uses the filter
};

}  // namespace

std::unique_ptr<PairBackend> make_filtering_backend(std::unique_ptr<SimilarityBackend> backend,
                                                    const TileGrid& grid, const ResultCut& cut) {
  return std::make_unique<FilteringBackend>(std::move(backend), grid, cut);
}

}  // namespace bulksim
