#include "backend/rows/pair_filter.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bulksim {

namespace {

constexpr std::int64_t kValuesAtOnce = 64;

class FilteringBackend final : public PairBackend {
 public:
  FilteringBackend(std::unique_ptr<SimilarityBackend> backend, const TileGrid& grid,
                   const PairFilterSpec& spec)
      : filter_(grid, spec), backend_(std::move(backend)) {}

  std::string description() const override { return backend_->description(); }
  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    backend_->drain();
    filter_.begin_queries(queries.range, sink);
    backend_->set_queries(queries, filter_);
  }
  void submit(ItemChunk chunk) override { backend_->submit(std::move(chunk)); }
  void drain() override { backend_->drain(); }
  std::int64_t recomputed_tiles() const override { return backend_->recomputed_tiles(); }
  PairStats work() const override { return filter_.work(); }
  void for_each_list(RowRange queries,
                     const std::function<void(const PairStripe&)>& take) const override {
    filter_.for_each_list(queries, take);
  }

 private:
  PairFilter filter_;
  std::unique_ptr<SimilarityBackend> backend_;  // last: it uses the filter
};

}  // namespace

PairFilter::~PairFilter() = default;

void PairFilter::begin_queries(RowRange queries, PairSink& sink) {
  queries_ = queries;
  sink_ = &sink;
  best_.reset();
  if (spec_.keep != Keep::kAll) best_.emplace(queries.size(), grid_.shape().items, spec_.count);
}

std::unique_ptr<TileWriter> PairFilter::make_writer() {
  return make_pair_writer();
}

std::unique_ptr<PairFilter::Writer> PairFilter::make_pair_writer() {
  return std::make_unique<Writer>(*this);
}

float PairFilter::floor(std::int64_t row) const {
  const std::uint64_t best = spec_.keep == Keep::kBest ? best_->floor(row) : 0;
  return best == 0 ? spec_.at_least : std::max(spec_.at_least, score_of(best));
}

PairStats PairFilter::work() const {
  const std::int64_t cells = cells_;
  PairStats work{.cells = cells, .candidates = cells};
  work.cells_of_way[static_cast<std::size_t>(PairWay::kFilter)] = cells;
  return work;
}

void PairFilter::for_each_list(RowRange queries,
                               const std::function<void(const PairStripe&)>& take) const {
  if (best_) best_->for_each_list(queries_, queries, take);
}

void PairFilter::Writer::begin(TileId tile) {
  tile_ = tile;
  pending_.begin();
  rows_.clear();
  kept_.clear();
}

void PairFilter::Writer::write(const TileStripe& stripe) {
  const RowRange rows = filter_.grid_.queries(tile_.row);
  const std::int64_t width = filter_.grid_.tile().items;
  for (std::int64_t row = 0; row < stripe.rows; ++row) {
    const std::int64_t query = rows.begin + stripe.first_row + row;
    if (query >= rows.end) break;
    filter_row(query, stripe.values.data() + row * width);
    keep_row(query);
  }
}

void PairFilter::Writer::write_candidates(std::int64_t query,
                                          std::span<const ScoredItem> candidates) {
  pairs_.clear();
  std::copy_if(
      candidates.begin(), candidates.end(), std::back_inserter(pairs_),
      [&](const ScoredItem& pair) { return filter_.spec_.admits(query, pair.item, pair.score); });
  keep_row(query);
}

void PairFilter::Writer::finish() {
  const bool are_lists = filter_.spec_.keep == Keep::kBest;
  using Stage = PairWork::Stage;
  writer_->begin({{&tile_, 1}, are_lists ? Stage::kSearch : Stage::kPairs});
  std::size_t begin = 0;
  for (const auto& [query, end] : rows_) {
    writer_->write({query, std::span(kept_).subspan(begin, end - begin)});
    begin = end;
  }
  writer_->finish();
  if (filter_.best_) pending_.push_to(*filter_.best_);
  filter_.cells_ +=
      filter_.grid_.queries(tile_.row).size() * filter_.grid_.items(tile_.column).size();
}

void PairFilter::Writer::filter_row(std::int64_t query, const float* values) {
  const RowRange items = filter_.grid_.items(tile_.column);
  const PairFilterSpec& spec = filter_.spec_;
  pairs_.clear();
  for (std::int64_t first = 0; first < items.size(); first += kValuesAtOnce) {
    const std::int64_t end = std::min(first + kValuesAtOnce, items.size());
    // most groups of values hold nothing that is wanted: one branch-free test for all
    std::int32_t passing = 0;
    for (std::int64_t at = first; at < end; ++at) {
      passing += (values[at] >= spec.at_least) & (values[at] < spec.below) &
                 (!spec.nonzero_only | (values[at] != 0.0f));
    }
    if (passing == 0) continue;
    for (std::int64_t at = first; at < end; ++at) {
      if (spec.admits(query, items.begin + at, values[at])) {
        pairs_.push_back({items.begin + at, values[at]});
      }
    }
  }
}

void PairFilter::Writer::keep_row(std::int64_t query) {
  if (filter_.best_) {
    const std::int64_t row = query - filter_.queries_.begin;
    pending_.keep(filter_.spec_, query, row, filter_.best_->floor(row), pairs_);
  }
  if (pairs_.empty() || filter_.spec_.keep == Keep::kBest) return;
  kept_.insert(kept_.end(), pairs_.begin(), pairs_.end());
  rows_.emplace_back(query, kept_.size());
}

std::unique_ptr<PairBackend> make_filtering_backend(std::unique_ptr<SimilarityBackend> backend,
                                                    const TileGrid& grid,
                                                    const PairFilterSpec& spec) {
  return std::make_unique<FilteringBackend>(std::move(backend), grid, spec);
}

}  // namespace bulksim
