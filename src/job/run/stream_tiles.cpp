#include "job/run/stream_tiles.hpp"

#include <algorithm>
#include <utility>

#include "job/input/row_reader.hpp"
#include "job/plan/tile_partition.hpp"

namespace bulksim {

namespace {

/// Waits until a backend has finished with the queries before they are destroyed, also after an
/// exception.
template <class Backend>
class DrainOnExit {
 public:
  explicit DrainOnExit(Backend& backend) : backend_(backend) {}
  ~DrainOnExit() {
    try {
      backend_.drain();
    } catch (...) {
      // another exception is being thrown already
    }
  }
  DrainOnExit(const DrainOnExit&) = delete;
  DrainOnExit& operator=(const DrainOnExit&) = delete;

 private:
  Backend& backend_;
};

/// Feeds a backend with the rows of its tiles, batch by batch of queries.
template <class Backend, class Sink>
class Stream {
 public:
  /// `nan` is notified of the rows that are read; it may be null.
  Stream(const RunSetup& setup, Backend& backend, Sink& sink, NanForZeroRows* nan)
      : setup_(setup),
        query_reader_(*setup.inputs.queries, setup.surveys.queries, setup.plan.columns,
                      setup.plan.arithmetic),
        item_reader_(*setup.inputs.items, setup.surveys.items, setup.plan.columns,
                     setup.plan.arithmetic),
        backend_(backend),
        sink_(sink),
        nan_(nan) {}

  /// The queries of tiles that are all within `query_batch_rows` rows are one batch.
  void run(const std::vector<std::int64_t>& tiles) {
    if (tiles.empty()) return;
    const TileGrid& grid = setup_.plan.grid;
    const std::int64_t batch_rows = setup_.schedule.query_batch_rows;
    std::int64_t first = grid.rows();
    for (const std::int64_t tile : tiles)
      first = std::min(first, grid.id(tile).row);
    for (std::int64_t row = first; row < grid.rows(); row += batch_rows) {
      const RowRange batch{row, std::min(row + batch_rows, grid.rows())};
      const std::int64_t columns =
          setup_.rows_serve_both_sides() ? grid.columns() : setup_.schedule.chunk_columns;
      const auto chunks = make_chunks(tiles, grid, batch, columns);
      if (!chunks.empty()) run_batch(chunks);
    }
  }

 private:
  void run_batch(const std::vector<ChunkTask>& chunks) {
    const DrainOnExit finish(backend_);
    if (!setup_.rows_serve_both_sides()) {
      set_queries(queries_of(chunks));
    } else if (queries_.range.empty()) {
      set_queries({0, setup_.plan.grid.shape().queries});
    }
    for (const ChunkTask& chunk : chunks)
      submit(chunk);
    backend_.drain();
  }

  void set_queries(RowRange range) {
    backend_.drain();
    queries_ = {range, query_reader_.read(range, setup_.resources.threads)};
    queries_.are_items = setup_.rows_serve_both_sides();
    queries_.first_items_are_positive = are_first_items_positive();
    if (nan_ != nullptr) nan_->note_queries(range, *queries_.rows);
    backend_.set_queries(queries_, sink_);
  }

  /// Only asked for lists of best items.
  bool are_first_items_positive() {
    const auto& filter = setup_.plan.filter;
    if (!filter || filter->keep != Keep::kBest) return false;
    const std::int64_t items = setup_.plan.grid.shape().items;
    const RowRange first{0, std::min(filter->count + 1, items)};
    const QuantizedRows rows = item_reader_.read(first, setup_.resources.threads);
    return std::ranges::all_of(rows.values, [](std::int32_t value) { return value >= 0; });
  }

  void submit(const ChunkTask& chunk) {
    const bool has_items = setup_.rows_serve_both_sides();
    const RowRange range = has_items ? queries_.range : chunk.items;
    const SharedRows items =
        has_items ? queries_.rows : SharedRows(item_reader_.read(range, setup_.resources.threads));
    if (nan_ != nullptr) nan_->note_items(range, *items);
    backend_.submit({range, items, chunk.tiles, chunk.tiles_to_come});
  }

  /// The rows of all tiles of these chunks.
  RowRange queries_of(const std::vector<ChunkTask>& chunks) const {
    const TileGrid& grid = setup_.plan.grid;
    RowRange rows{grid.shape().queries, 0};
    for (const ChunkTask& chunk : chunks) {
      for (const TileId& tile : chunk.tiles) {
        rows.begin = std::min(rows.begin, grid.queries(tile.row).begin);
        rows.end = std::max(rows.end, grid.queries(tile.row).end);
      }
    }
    return rows;
  }

  const RunSetup& setup_;
  RowReader query_reader_;
  RowReader item_reader_;
  Backend& backend_;
  Sink& sink_;
  NanForZeroRows* nan_;
  QueryBatch queries_;
};

}  // namespace

RunSink::RunSink(const Plan& plan, TileSink& output, JobContext context)
    : watched_(output, context) {
  if (plan.zero_rows == ZeroRows::kNan) nan_.emplace(plan.grid, watched_);
}

TileSink& RunSink::entrance() {
  if (nan_) return *nan_;
  return watched_;
}

void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, RunSink& sink) {
  Stream(setup, backend, sink.entrance(), sink.nan()).run(tiles);
}

class PairStream::Impl : public Stream<PairBackend, PairSink> {
  using Stream::Stream;
};

PairStream::PairStream(const RunSetup& setup, PairBackend& backend, PairSink& sink)
    : impl_(std::make_unique<Impl>(setup, backend, sink, nullptr)) {}
PairStream::~PairStream() = default;

void PairStream::run(const std::vector<std::int64_t>& tiles) {
  impl_->run(tiles);
}

std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks) {
  return share_tiles(tiles_of(setup.plan), setup.plan, setup.surveys.items, ranks);
}

}  // namespace bulksim
