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

/// `nan` is notified of the rows that are read; it may be null.
template <class Backend, class Sink>
void stream_batches(const RunSetup& setup, const std::vector<std::int64_t>& tiles, Backend& backend,
                    Sink& sink, NanForZeroRows* nan) {
  const Plan& plan = setup.plan;
  RowReader query_reader(*setup.inputs.queries, setup.surveys.queries, plan.columns,
                         plan.arithmetic);
  RowReader item_reader(*setup.inputs.items, setup.surveys.items, plan.columns, plan.arithmetic);
  const std::int64_t batch_rows = setup.schedule.query_batch_rows;
  for (std::int64_t row = 0; row < plan.grid.rows(); row += batch_rows) {
    const RowRange batch{row, std::min(row + batch_rows, plan.grid.rows())};
    const auto chunks = make_chunks(tiles, plan.grid, batch, setup.schedule.chunk_columns);
    if (chunks.empty()) continue;
    QueryBatch queries;
    queries.range = {plan.grid.queries(batch.begin).begin, plan.grid.queries(batch.end - 1).end};
    queries.rows = query_reader.read(queries.range);
    if (nan != nullptr) nan->note_queries(queries.range, queries.rows);
    const DrainOnExit finish(backend);
    backend.set_queries(queries, sink);
    for (const ChunkTask& chunk : chunks) {
      QuantizedRows items = item_reader.read(chunk.items);
      if (nan != nullptr) nan->note_items(chunk.items, items);
      backend.submit({chunk.items, std::move(items), chunk.tiles, chunk.tiles_to_come});
    }
    backend.drain();
  }
}

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
  stream_batches(setup, tiles, backend, sink.entrance(), sink.nan());
}

void stream_pairs(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  PairBackend& backend, PairSink& sink) {
  stream_batches(setup, tiles, backend, sink, nullptr);
}

std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks) {
  return share_tiles(tiles_of(setup.plan), setup.plan, setup.surveys.items, ranks);
}

}  // namespace bulksim
