#include "backend/cpu/pair_worker.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kRowsOfASlice =
    8192;  // so that a block is read often while it is in the cache
constexpr std::int64_t kRowsOfAJoin = 256;
constexpr std::int64_t kRowsOfAFilter = 256;
constexpr std::size_t kMostPairs = std::size_t{1} << 18;  // of a part, and one row more
constexpr std::int64_t kItemsOfABand = 8192;              // without a join, which gains from many
constexpr std::int64_t kSampledRows = 16;
constexpr std::int64_t kSampledJoinItems = 4096;
// Cells per sampled cell of a large part, and the least number of sampled cells.
constexpr std::int64_t kCellsPerSample = std::int64_t{1} << 16;
constexpr std::int64_t kJoinedCellsPerSample = std::int64_t{1} << 20;
constexpr std::int64_t kLeastSamples = 8;
constexpr std::int64_t kFewCells = 4096;  // a part that is sampled in full

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Whether bounds can exclude anything: they cannot distinguish scores of 0.
bool bounds_exclude(const PairFilterSpec& spec) {
  return spec.keep == Keep::kBest || spec.at_least > 0.0f;
}

/// Whether every query has the same cut, which more than a shared column is needed to reach.
bool can_be_joined(const PairFilterSpec& spec) {
  return spec.keep == Keep::kAll && spec.at_least > 0.0f;
}

RowRange overlap(RowRange a, RowRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

PairWorker::PairWorker(const CpuBackendOptions& options, const PairFilterSpec& spec,
                       const CpuKernel& kernel, std::optional<PairWay> only_way)
    : options_(options),
      spec_(spec),
      kernel_(kernel),
      band_({options.sub_block, options.dense_share, kernel.lanes()},
            std::min(options.search_block, kSearchItems)),
      join_(SearchKernel::best()),
      search_(SearchKernel::best()) {
  if (!can_be_joined(spec)) costs_.exclude(PairWay::kJoin);
  if (!bounds_exclude(spec) || (spec.mirrored && spec.keep == Keep::kBest)) {
    costs_.exclude(PairWay::kSweep);
  }
  if (only_way && !costs_.is_excluded(*only_way)) {
    for (const PairWay way : kPairWays) {
      if (way != *only_way) costs_.exclude(way);
    }
  }
}

void PairWorker::begin_queries(const SearchQueries& queries, TopKHeaps* best) {
  queries_ = &queries;
  best_ = best;
  chunk_number_ = -1;
  bands_begun_ = 0;
  join_.begin_queries(queries);
  search_.begin_queries(queries);
}

std::int64_t PairWorker::columns_of_a_band(const TileGrid& grid, const PairFilterSpec& spec) {
  const std::int64_t items = can_be_joined(spec) ? kJoinItems : kItemsOfABand;
  return std::max<std::int64_t>(1, items / grid.tile().items);
}

/// Where the threads of a band would do the same work twice, a band is as wide as possible all the
/// same: inverting its items is cheap beside computing its tiles.
void PairWorker::begin_band(const TileBatch& batch) {
  const std::int64_t columns = columns_of_a_band(options_.grid, spec_);
  const std::int64_t number = batch.tiles.front().column / columns;
  if (batch.number == chunk_number_ && number == band_number_) return;
  chunk_number_ = batch.number;
  band_number_ = number;
  chunk_ = batch.chunk.get();
  const std::int64_t last = std::min((number + 1) * columns, options_.grid.columns()) - 1;
  const RowRange items = overlap(
      {options_.grid.items(number * columns).begin, options_.grid.items(last).end}, chunk_->range);
  band_.begin(*chunk_, items, *queries_);
  const Signs signs = common_signs(queries_->rows(), band_.rows());
  filter_ = kernel_.filter_function(options_.arithmetic, signs);
  scratch_.require(options_.sub_block, queries_->rows().longest());
  costs_.begin_band();
  // again after 1, 2, 4 .. bands: the cuts rise while lists of best items fill
  const bool is_due = std::has_single_bit(++bands_begun_);
  if (is_due && (spec_.keep == Keep::kBest || !costs_.is_decided())) estimate_costs();
}

/// Tries each way on some queries, spread over the batch, and some items of the band.
void PairWorker::estimate_costs() {
  std::vector<std::int64_t> rows;
  const std::int64_t count = queries_->rows().rows();
  for (std::int64_t at = 0; at < std::min(kSampledRows, count); ++at)
    rows.push_back(at * count / std::min(kSampledRows, count));
  for (const PairWay way : kPairWays) {
    if (!costs_.is_excluded(way)) estimate(way, rows);
  }
  take_work();  // the sample does not count
}

void PairWorker::estimate(PairWay way, const std::vector<std::int64_t>& rows) {
  RowRange items = band_.range();
  const double begin = now();
  if (way == PairWay::kJoin) {
    items.end = std::min(items.end, items.begin + kSampledJoinItems);
    band_.build_sample(sample_index_, items, spec_.at_least);
  } else if (way == PairWay::kSweep) {
    items = band_.search_range(items.begin);
    band_.search_block(items.begin);
  } else {
    items = band_.item_range(items.begin);
    band_.item_block(items.begin);
  }
  const double inverted = now();
  double least = HUGE_VAL;
  for (int repeat = 0; repeat < 2; ++repeat) {  // the first also brings everything into the cache
    const double start = now();
    for (const std::int64_t row : rows) {
      Part part{{row, row + 1}, items};
      found_.clear();
      found_rows_.clear();
      offers_.clear();
      if (way == PairWay::kJoin) {
        exact_.clear();
        join_.find({row, spec_.at_least}, items, sample_index_, band_.rows(), exact_);
      } else {
        way == PairWay::kSweep ? sweep(part) : filter(part);
      }
    }
    least = std::min(least, now() - start);
  }
  const auto cells = static_cast<double>(std::ssize(rows) * items.size());
  costs_.estimate(way, {(inverted - begin) / static_cast<double>(items.size()), least / cells});
}

std::int64_t PairWorker::compute(const TileBatch& batch, PairWriter& writer,
                                 const std::function<bool()>& is_over) {
  recomputed_ = 0;
  begin_band(batch);
  // rectangles: neighbouring rows of tiles with the same neighbouring columns
  std::span<const TileId> rest = batch.tiles;
  while (!rest.empty() && !is_over()) {
    std::size_t width = 1;
    while (width < rest.size() && rest[width].row == rest[0].row &&
           rest[width].column == rest[width - 1].column + 1) {
      ++width;
    }
    std::size_t count = width;
    const auto continues = [&] {
      if (rest.size() < count + width) return false;
      for (std::size_t at = 0; at < width; ++at) {
        const TileId above = rest[count - width + at];
        if (rest[count + at] != TileId{above.row + 1, above.column}) return false;
      }
      return count + width == rest.size() || rest[count + width].row != rest[count].row;
    };
    while (continues())
      count += width;
    const auto tiles = rest.first(count);
    rest = rest.subspan(count);
    const bool are_lists = spec_.keep == Keep::kBest;
    writer.begin({tiles, are_lists ? PairWork::Stage::kSearch : PairWork::Stage::kPairs});
    const std::int64_t origin = queries_->batch().range.begin;
    const RowRange rows{options_.grid.queries(tiles.front().row).begin - origin,
                        options_.grid.queries(tiles.back().row).end - origin};
    const RowRange items{options_.grid.items(tiles.front().column).begin - band_.origin(),
                         options_.grid.items(tiles.back().column).end - band_.origin()};
    for (std::int64_t row = rows.begin; row < rows.end; row += kRowsOfASlice)
      run_slice({{row, std::min(row + kRowsOfASlice, rows.end)}, items}, writer);
    writer.finish();
  }
  return recomputed_;
}

void PairWorker::run_slice(const Part& slice, PairWriter& writer) {
  const PairWay way =
      costs_.choose(queries_->rows().rows() * band_.range().size(), band_.range().size());
  const double begin = now();
  if (way == PairWay::kJoin) {
    for (Part part = slice; part.rows.begin < slice.rows.end; part.rows.begin = part.rows.end) {
      part.rows.end = std::min(part.rows.begin + kRowsOfAJoin, slice.rows.end);
      run_part(way, part, writer);
    }
  } else {
    for (std::int64_t item = slice.items.begin; item < slice.items.end;) {
      const RowRange block =
          way == PairWay::kSweep ? band_.search_range(item) : band_.item_range(item);
      Part part{slice.rows, overlap(block, slice.items)};
      for (; part.rows.begin < slice.rows.end; part.rows.begin = part.rows.end) {
        part.rows.end = slice.rows.end;
        run_part(way, part, writer);
      }
      item = block.end;
    }
  }
  costs_.add(way, slice.cells(), now() - begin);
  own_work_.cells_of_way[static_cast<std::size_t>(way)] += slice.cells();
}

/// Ends the part early when it has many pairs.
void PairWorker::run_part(PairWay way, Part& part, PairWriter& writer) {
  const Part whole = part;
  for (int failed = 0; failed < 2; ++failed) {
    part = whole;
    if (find(way, part) && holds(part)) {
      deliver(part, writer);
      return;
    }
    ++recomputed_;
  }
  throw wrong_twice(tile_of(whole));
}

bool PairWorker::find(PairWay way, Part& part) {
  found_.clear();
  found_rows_.clear();
  offers_.clear();
  pending_.begin();
  const RowRange queries{query_of(part.rows.begin), query_of(part.rows.end)};
  const RowRange items{part.items.begin + band_.origin(), part.items.end + band_.origin()};
  if (!spec_.touches(queries, items)) {
    found_rows_.resize(part.rows.size());
    return true;
  }
  if (way == PairWay::kJoin) {
    join(part);
  } else if (!(way == PairWay::kSweep ? sweep(part) : filter(part))) {
    return false;
  }
  if (options_.before_checks) {
    for (ScoredItem& pair : found_)
      options_.before_checks(tile_of(part), {&pair.score, 1});
  }
  return true;
}

void PairWorker::join(Part& part) {
  const JoinIndex& index = band_.join_index(spec_.at_least);
  for (std::int64_t row = part.rows.begin; row < part.rows.end; ++row) {
    if (row + 1 < part.rows.end) join_.prefetch(row + 1, index);
    RowRange items = part.items;
    if (!spec_.is_two_sided()) {  // partners are not earlier than the query
      items.begin = std::max(items.begin, query_of(row) - band_.origin());
    }
    if (!items.empty()) {
      exact_.clear();
      join_.find({row, spec_.at_least}, items, index, band_.rows(), exact_);
      for (const ExactPair& pair : exact_) {
        const double item_scale = band_.rows().scale(pair.item);
        const float score = to_score(pair.sum, queries_->scale(row), item_scale);
        if (score >= spec_.at_least) add(row, pair.item, score, part);
      }
    }
    end_row(row, 0);
    if (found_.size() > kMostPairs) part.rows.end = row + 1;
  }
}

bool PairWorker::sweep(Part& part) {
  const SearchBlock& block = band_.search_block(part.items.begin);
  for (std::int64_t row = part.rows.begin; row < part.rows.end; ++row) {
    const std::uint64_t floor = floor_of(row);
    exact_.clear();
    const SearchGoal goal = goal_of(row, block.rows(), part.items == block.rows(), floor);
    if (!search_.find(goal, block, band_.rows(), exact_)) return false;
    for (const ExactPair& pair : exact_) {
      add(row, pair.item, to_score(pair.sum, queries_->scale(row), band_.rows().scale(pair.item)),
          part);
    }
    end_row(row, floor);
    if (found_.size() > kMostPairs) part.rows.end = row + 1;
  }
  return true;
}

bool PairWorker::filter(Part& part) {
  const ItemBlock& block = band_.item_block(part.items.begin);
  const RowRange items = band_.item_range(part.items.begin);
  part.rows.end = std::min(part.rows.end, part.rows.begin + kRowsOfAFilter);
  const std::size_t rows = part.rows.size();
  cells_.resize(std::max(cells_.size(), rows * static_cast<std::size_t>(items.size())));
  cell_ends_.resize(rows);
  cell_floors_.resize(rows);
  std::vector<std::uint64_t> floors(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    floors[row] = floor_of(part.rows.begin + static_cast<std::int64_t>(row));
    cell_floors_[row] = ScoreFloor::of(least_score(floors[row], items.begin + band_.origin()));
  }
  FilterTask task;
  task.queries = &queries_->rows();
  task.rows = part.rows;
  task.block = &block;
  task.floors = cell_floors_.data();
  task.item_floors = is_mirrored() ? item_floors(part, items) : nullptr;
  task.scratch = &scratch_;
  task.out = cells_.data();
  task.ends = cell_ends_.data();
  if (filter_(task) != 0) return false;
  const FoundCell* cell = cells_.data();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t of_batch = part.rows.begin + static_cast<std::int64_t>(row);
    for (const FoundCell* end = cells_.data() + cell_ends_[row]; cell < end; ++cell) {
      const std::int64_t item = items.begin + cell->item;
      if (cell->score >= cell_floors_[row].score) add(of_batch, item, cell->score, part);
      if (is_mirrored() && cell->score >= item_floors_[cell->item]) {
        offer(of_batch, item, cell->score, part);
      }
    }
    end_row(of_batch, floors[row]);
  }
  own_work_.cells += part.cells();
  own_work_.candidates += part.cells();
  return true;
}

std::uint64_t PairWorker::floor_of(std::int64_t row) const {
  return best_ == nullptr ? 0 : best_->floor(row);
}

/// The lowest score that is wanted of an item numbered `first_item` or higher.
float PairWorker::least_score(std::uint64_t floor, std::int64_t first_item) const {
  if (spec_.keep != Keep::kBest || floor == 0) return spec_.at_least;
  const float score = score_of(floor);
  const bool ties_lose = first_item > item_of(floor);
  return std::max(spec_.at_least, ties_lose ? std::nextafter(score, HUGE_VALF) : score);
}

/// What to search for in a block of items, as rows of the band, of which all or some are wanted.
SearchGoal PairWorker::goal_of(std::int64_t row, RowRange items, bool all,
                               std::uint64_t floor) const {
  const RowRange numbers{items.begin + band_.origin(), items.end + band_.origin()};
  const float least = least_score(floor, numbers.begin);
  const std::int64_t most = spec_.count + (spec_.partners == Partners::kAll ? 0 : 1);
  const bool all_count = all && spec_.items.begin <= numbers.begin &&
                         numbers.end <= spec_.items.end && spec_.is_two_sided() &&
                         std::isinf(spec_.below);
  const bool from_none = spec_.keep == Keep::kBest && floor == 0 && all_count;
  const std::int64_t zeros = all_count ? most : items.size();
  return {row, least, from_none ? most : 0, least <= 0.0f ? zeros : 0};
}

/// Keeps a pair of a row of the batch and an item of the band, if the filter admits it.
void PairWorker::add(std::int64_t row, std::int64_t item, float score, const Part& part) {
  if (item < part.items.begin || item >= part.items.end) return;
  if (spec_.admits(query_of(row), item + band_.origin(), score)) {
    found_.push_back({item + band_.origin(), score});
  }
}

/// Keeps a pair for the row of its item, if it may be among its best.
void PairWorker::offer(std::int64_t row, std::int64_t item, float score, const Part& part) {
  if (item < part.items.begin || item >= part.items.end || item == row) return;
  if (!spec_.admits(query_of(row), item + band_.origin(), score)) return;
  const std::uint64_t key = rank_key(spec_, item + band_.origin(), query_of(row), score);
  if (key > offer_floors_[item - offer_begin_]) offers_.push_back({item, key});
}

/// The lowest scores that are wanted of the queries that the items of a block are, for partners in
/// the part. The rows of the band are those of the batch.
const float* PairWorker::item_floors(const Part& part, RowRange items) {
  const std::size_t size = items.size();
  offer_begin_ = items.begin;
  offer_floors_.resize(size);
  item_floors_.assign(ItemBlock::padded(items.size()), HUGE_VALF);
  for (std::size_t at = 0; at < size; ++at) {
    offer_floors_[at] = best_->floor(items.begin + static_cast<std::int64_t>(at));
    item_floors_[at] = least_score(offer_floors_[at], query_of(part.rows.begin));
  }
  return item_floors_.data();
}

void PairWorker::end_row(std::int64_t row, std::uint64_t floor) {
  const std::size_t begin = found_rows_.empty() ? 0 : found_rows_.back().end;
  const auto first = found_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto by_item = [](const ScoredItem& a, const ScoredItem& b) { return a.item < b.item; };
  if (!std::is_sorted(first, found_.end(), by_item)) std::sort(first, found_.end(), by_item);
  std::uint64_t least = 0;
  if (spec_.keep != Keep::kAll) {
    row_pairs_.assign(first, found_.end());
    const auto keys = pending_.keep(spec_, query_of(row), row, floor, row_pairs_);
    if (std::ssize(row_pairs_) >= spec_.count && !keys.empty()) least = std::ranges::min(keys);
    found_.resize(begin);
    found_.insert(found_.end(), row_pairs_.begin(), row_pairs_.end());
  }
  found_rows_.push_back({found_.size(), offers_.size(), floor, least});
}

/// The pairs of a row of the part.
std::span<const ScoredItem> PairWorker::pairs_of(const Part& part, std::int64_t row) const {
  const std::size_t at = row - part.rows.begin;
  const std::size_t begin = at == 0 ? 0 : found_rows_[at - 1].end;
  return std::span(found_).subspan(begin, found_rows_[at].end - begin);
}

/// Whether sampled cells are among the pairs exactly if the score from a merge of their two rows is
/// wanted.
bool PairWorker::holds(const Part& part) const {
  const bool joined = part.items.size() > std::max(options_.sub_block, options_.search_block);
  const std::int64_t samples =
      part.cells() <= kFewCells
          ? kSampledCells
          : std::clamp(part.cells() / (joined ? kJoinedCellsPerSample : kCellsPerSample),
                       kLeastSamples, std::int64_t{kSampledCells});
  const auto number = static_cast<std::int64_t>(
      mix(query_of(part.rows.begin), part.items.begin + band_.origin()) >> 1);
  const auto cells = sampled_cells(number, part.rows.size(), part.items.size());
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const Cell& cell = cells[sample * kSampledCells / samples];
    const std::int64_t row = part.rows.begin + cell.row;
    const std::int64_t band_item = part.items.begin + cell.item;
    const std::int64_t query = query_of(row);
    const std::int64_t item = band_item + band_.origin();
    const float expected =
        exact_score(queries_->batch().rows, row, chunk_->rows, band_item + band_.origin_in_chunk());
    bool wanted = spec_.admits(query, item, expected);
    if (wanted && spec_.keep != Keep::kAll) {
      const FoundRow& found_row = found_rows_[cell.row];
      const std::uint64_t key = rank_key(spec_, query, item, expected);
      wanted = key > found_row.floor && key >= found_row.least;
    }
    const auto pairs = pairs_of(part, row);
    const auto place = std::ranges::lower_bound(pairs, item, {}, &ScoredItem::item);
    const bool found = place != pairs.end() && place->item == item;
    if (found != wanted || (found && place->score != expected)) return false;
    if (is_mirrored() && !offer_holds(part, row, band_item, expected)) return false;
  }
  return true;
}

/// Whether a cell with this score was offered to the row of its item exactly if it is wanted there.
bool PairWorker::offer_holds(const Part& part, std::int64_t row, std::int64_t item,
                             float score) const {
  const std::size_t at = row - part.rows.begin;
  const std::uint64_t key = rank_key(spec_, item + band_.origin(), query_of(row), score);
  const bool wanted = item != row && spec_.admits(query_of(row), item + band_.origin(), score) &&
                      key > offer_floors_[item - offer_begin_];
  const auto begin = at == 0 ? 0 : found_rows_[at - 1].offers_end;
  const auto offers = std::span(offers_).subspan(begin, found_rows_[at].offers_end - begin);
  const auto place = std::ranges::lower_bound(offers, item, {}, &Offer::row);
  const bool found = place != offers.end() && place->row == item;
  return found == wanted && (!found || place->rank_key == key);
}

void PairWorker::deliver(const Part& part, PairWriter& writer) {
  if (best_ != nullptr) pending_.push_to(*best_);
  for (const Offer& offer : offers_) {
    if (offer.rank_key > best_->floor(offer.row)) best_->push(offer.row, {&offer.rank_key, 1});
  }
  if (spec_.keep == Keep::kBest) return;
  for (std::int64_t row = part.rows.begin; row < part.rows.end; ++row) {
    const auto pairs = pairs_of(part, row);
    if (!pairs.empty()) writer.write({query_of(row), pairs});
  }
}

TileId PairWorker::tile_of(const Part& part) const {
  const TileShape tile = options_.grid.tile();
  return {query_of(part.rows.begin) / tile.queries,
          (part.items.begin + band_.origin()) / tile.items};
}

PairStats PairWorker::take_work() {
  PairStats work = std::exchange(own_work_, {});
  work += join_.take_work();
  work += search_.take_work();
  return work;
}

std::int64_t PairWorker::bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                               std::int64_t query_nnz, std::int64_t labels, std::int64_t band_nnz) {
  const std::int64_t items = items_of_a_pair_band(options.grid, spec);
  const std::int64_t search_items = std::min(options.search_block, kSearchItems);
  const std::int64_t search_blocks = divide_up(items, search_items);
  const BlockLayout layout{options.sub_block, options.dense_share, 1};
  const std::int64_t of_sweep =
      SearchBlock::bytes(band_nnz, labels) +
      search_blocks *
          (ranked_set_bytes(labels) + search_items * std::int64_t{kBands * sizeof(float)});
  const std::int64_t of_filter =
      ItemBlock::bytes(items, band_nnz, labels, layout) +
      kRowsOfAFilter * options.sub_block * std::int64_t{sizeof(FoundCell)};
  const std::int64_t of_join = JoinIndex::bytes(band_nnz, labels) + PairJoin::bytes(labels);
  return LabelledRows::bytes(items, band_nnz) + std::max({of_sweep, of_filter, of_join}) +
         PairSearch::bytes(std::min(query_nnz, labels), labels, options.grid.shape().queries);
}

}  // namespace bulksim
