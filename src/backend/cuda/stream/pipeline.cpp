#include "backend/cuda/stream/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "backend/rows/tile_checks.hpp"
#include "core/run/host.hpp"

namespace bulksim::cuda {

namespace {

/// 1 MiB: hashed and written while in the cache of a core.
constexpr std::int64_t kStripeValues = 1 << 18;

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <class T>
std::span<const T> part(std::span<T> all, std::int64_t first, std::int64_t count) {
  return all.subspan(first, count);
}

}  // namespace

Pipeline::Pipeline(const CudaBackendOptions& options, const Device& device, const QueryBatch& batch,
                   TileSink& sink, PairFilter* filter)
    : options_(options),
      device_(device),
      batch_(batch),
      sink_(sink),
      filter_(filter),
      ring_(options),
      deliveries_(options.pinned_tiles),
      feeder_(options, device, batch, filter),
      recompute_(options, batch, feeder_.queries()) {
  threads_.emplace_back([this](const std::stop_token& token) { guarded([&] { feed(token); }); });
  for (int writer = 0; writer < options.writers; ++writer) {
    threads_.emplace_back(
        [this] { guarded([this] { filter_ == nullptr ? write_tiles() : write_pairs(); }); });
  }
}

void Pipeline::submit(ItemChunk chunk) {
  halting_on_failure([&] { chunks_.submit(std::move(chunk)); });
}

void Pipeline::drain() {
  halting_on_failure([&] { chunks_.drain(); });
}

template <class Body>
void Pipeline::guarded(Body body) {
  try {
    on_device(device_, body);
  } catch (...) {
    fail(std::current_exception());
  }
}

/// Ends the threads before a failure is passed on, because the caller may then drop the queries and
/// the sink.
template <class Step>
void Pipeline::halting_on_failure(const Step& step) {
  try {
    step();
  } catch (...) {
    halt();
    throw;
  }
}

void Pipeline::fail(std::exception_ptr failure) {
  chunks_.fail(std::move(failure));
  stop();
}

void Pipeline::halt() {
  stop();
  threads_.clear();
}

void Pipeline::stop() {
  stopped_ = true;
  deliveries_.close();
  ring_.close();
}

void Pipeline::feed(const std::stop_token& stop) {
  while (const auto chunk = chunks_.take_chunk(stop)) {
    if (stopped_) return;
    feeder_.run(*chunk, ring_,
                [this](Delivery delivery) { return deliveries_.push(std::move(delivery)); });
  }
}

template <class Take>
void Pipeline::for_each_tile(const Take& take) {
  while (auto delivery = deliveries_.pop()) {
    if (stopped_) return;
    PinnedTile& pinned = *delivery->pinned;
    pinned.arrived.wait();
    take(*delivery, pinned);
    ring_.give_back(&pinned);
    chunks_.done(std::move(delivery->batch));
  }
}

void Pipeline::write_tiles() {
  const auto writer = sink_.make_writer();
  for_each_tile([&](const Delivery& delivery, PinnedTile& pinned) {
    verify(*delivery.batch.chunk, delivery.tile(), pinned);
    write_whole(*writer, delivery.tile(), pinned);
  });
}

void Pipeline::write_pairs() {
  const auto writer = filter_->make_pair_writer();
  for_each_tile([&](const Delivery& delivery, PinnedTile& pinned) {
    const ItemChunk& chunk = *delivery.batch.chunk;
    if (delivery.candidates) {
      const std::size_t count = *delivery.candidates;
      const CandidateRows rows(pinned.counts.view(), pinned.candidates.view().first(count));
      if (candidates_hold(chunk, delivery.tile(), pinned, rows)) {
        write_candidates(*writer, delivery.tile(), rows);
        return;
      }
      compute_again(chunk, delivery.tile(), pinned);
    } else {
      verify(chunk, delivery.tile(), pinned);
    }
    write_whole(*writer, delivery.tile(), pinned);
  });
}

void Pipeline::write_whole(TileWriter& writer, TileId tile, const PinnedTile& pinned) const {
  const TileShape& shape = options_.grid.tile();
  const std::int64_t stripe = std::max<std::int64_t>(1, kStripeValues / shape.items);
  const std::int64_t values = has_values(options_) ? shape.items : 0;
  const std::int64_t partials = tile_partials(options_) / shape.queries;
  writer.begin(tile);
  for (std::int64_t row = 0; row < shape.queries; row += stripe) {
    const std::int64_t rows = std::min(stripe, shape.queries - row);
    writer.write({tile, row, rows, part(pinned.values.view(), row * values, rows * values),
                  part(pinned.partials.view(), row * partials, rows * partials)});
  }
  writer.finish();
}

void Pipeline::write_candidates(PairFilter::Writer& writer, TileId tile,
                                const CandidateRows& rows) const {
  const RowRange queries = options_.grid.queries(tile.row);
  const std::int64_t first = options_.grid.items(tile.column).begin;
  std::vector<ScoredItem> pairs;
  writer.begin(tile);
  for (std::int64_t row = 0; row < queries.size(); ++row) {
    pairs.clear();
    for (const Candidate& candidate : rows.row(row))
      pairs.push_back({first + candidate.item, candidate.score});
    writer.write_candidates(queries.begin + row, pairs);
  }
  writer.finish();
}

/// Returns once the checks of the tile have passed.
void Pipeline::verify(const ItemChunk& chunk, TileId tile, PinnedTile& pinned) {
  if (!holds(chunk, tile, pinned)) compute_again(chunk, tile, pinned);
}

void Pipeline::compute_again(const ItemChunk& chunk, TileId tile, PinnedTile& pinned) {
  recompute_.compute(chunk, tile, pinned);
  if (!holds(chunk, tile, pinned)) {
    throw Error(ExitCode::kSoftware,
                "the tile in row " + std::to_string(tile.row) + ", column " +
                    std::to_string(tile.column) + " failed its checks twice on host '" +
                    host_name() + "' (" + device_.description() +
                    "): test that device and run the same command on another one");
  }
  ++recomputed_;
}

float Pipeline::exact_score_of(const ItemChunk& chunk, TileId tile, std::int64_t row,
                               std::int64_t item) const {
  const std::int64_t query = options_.grid.queries(tile.row).begin - batch_.range.begin + row;
  const std::int64_t at = options_.grid.items(tile.column).begin - chunk.range.begin + item;
  return exact_score(batch_.rows, query, chunk.rows, at);
}

bool Pipeline::holds(const ItemChunk& chunk, TileId tile, const PinnedTile& pinned) const {
  if (*pinned.mismatches.data() != 0) return false;
  const TileGrid& grid = options_.grid;
  std::size_t number = 0;
  for (const Cell& cell : sampled_cells(grid.number(tile), grid.queries(tile.row).size(),
                                        grid.items(tile.column).size())) {
    if (has_values(options_) &&
        !same_bits(pinned.values.data()[cell.row * grid.tile().items + cell.item],
                   exact_score_of(chunk, tile, cell.row, cell.item))) {
      return false;
    }
    if (has_partials(options_) && number++ % kCellsPerPartial == 0 &&
        !partial_holds(chunk, tile, cell.row, cell.item, pinned)) {
      return false;
    }
  }
  return true;
}

/// Recomputes the partial of a row and the fine block of an item: from the values of the tile if it
/// has them, otherwise from the rows.
bool Pipeline::partial_holds(const ItemChunk& chunk, TileId tile, std::int64_t row,
                             std::int64_t item, const PinnedTile& pinned) const {
  const TileGrid& grid = options_.grid;
  const std::int64_t block = item / kBlockItems;
  const std::int64_t begin = block * kBlockItems;
  const std::int64_t end = std::min(begin + kBlockItems, grid.items(tile.column).size());
  std::vector<float> cosines;
  for (std::int64_t at = begin; at < end; ++at) {
    cosines.push_back(has_values(options_) ? pinned.values.data()[row * grid.tile().items + at]
                                           : exact_score_of(chunk, tile, row, at));
  }
  const std::int64_t query = grid.queries(tile.row).begin - batch_.range.begin + row;
  const std::int64_t blocks = tile_partials(options_) / grid.tile().queries;
  return is_partial_of(pinned.partials.data()[row * blocks + block], cosines,
                       !batch_.rows->columns_of(query).empty(), exp_scale(options_.softmax_scale));
}

/// Whether each sampled cell among the candidates is bit-identical, and each wanted one is among
/// them.
bool Pipeline::candidates_hold(const ItemChunk& chunk, TileId tile, const PinnedTile& pinned,
                               const CandidateRows& rows) const {
  const TileGrid& grid = options_.grid;
  const RowRange queries = grid.queries(tile.row);
  const RowRange items = grid.items(tile.column);
  if (*pinned.mismatches.data() != 0 || !rows.are_in_order(items.size())) return false;
  const auto cells = sampled_cells(grid.number(tile), queries.size(), items.size());
  return std::all_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    const float exact = exact_score_of(chunk, tile, cell.row, cell.item);
    const auto found = rows.find(cell.row, cell.item);
    if (found) return same_bits(*found, exact);
    const std::int64_t query = queries.begin + cell.row;
    return !filter_->spec().admits(query, items.begin + cell.item, exact) ||
           exact < filter_->floor(query - batch_.range.begin);
  });
}

}  // namespace bulksim::cuda
