#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cpu_kernel.hpp"
#include "backend/tile_worker.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kChunksInFlight = 2;
constexpr std::size_t kTilesOfAUnit = 8;  // share the inverted items, which one thread builds

/// Tiles of one column, for one thread.
struct Unit {
  std::int64_t number;  ///< of the chunk, in the order in which they came
  std::shared_ptr<const ItemChunk> chunk;
  std::span<const TileId> tiles;
};

/// Cuts the tiles of a chunk into pieces of one column, shorter ones where threads would stay idle.
std::vector<std::span<const TileId>> cut(std::span<const TileId> tiles, int threads) {
  const std::size_t longest =
      std::clamp<std::size_t>(tiles.size() / static_cast<std::size_t>(threads), 1, kTilesOfAUnit);
  std::vector<std::span<const TileId>> pieces;
  while (!tiles.empty()) {
    const auto end = std::ranges::find_if(
        tiles, [&](const TileId& tile) { return tile.column != tiles.front().column; });
    const auto size = std::min(longest, static_cast<std::size_t>(end - tiles.begin()));
    pieces.push_back(tiles.first(size));
    tiles = tiles.subspan(size);
  }
  return pieces;
}

/// Units between the owner, who waits while two chunks are in flight, and the workers. The first
/// failure of a worker ends all: whoever waits gets it.
class UnitQueue {
 public:
  void submit(ItemChunk chunk, int threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || open_units_.size() < kChunksInFlight; });
    rethrow();
    if (chunk.tiles.empty()) return;
    const auto shared = std::make_shared<const ItemChunk>(std::move(chunk));
    const auto pieces = cut(shared->tiles, threads);
    for (const auto& tiles : pieces)
      waiting_.push_back({chunks_, shared, tiles});
    open_units_[chunks_++] = pieces.size();
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || open_units_.empty(); });
    rethrow();
  }

  /// Nothing when the thread shall end.
  std::optional<Unit> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return failure_ || !waiting_.empty(); });
    if (stop.stop_requested() || failure_) return std::nullopt;
    Unit unit = std::move(waiting_.front());
    waiting_.pop_front();
    return unit;
  }

  void done(Unit unit) {
    unit.chunk.reset();  // its memory goes before the next chunk may come
    const std::lock_guard lock(mutex_);
    const auto open = open_units_.find(unit.number);
    if (--open->second == 0) open_units_.erase(open);
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    failed_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  bool failed() const { return failed_; }

 private:
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Unit> waiting_;
  std::map<std::int64_t, std::size_t> open_units_;  // of each chunk in flight, by its number
  std::int64_t chunks_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

class CpuBackend final : public SimilarityBackend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : options_(options), kernel_(CpuKernel::choose(options.simd)) {
    workers_.reserve(static_cast<std::size_t>(options.threads));
    for (int thread = 0; thread < options.threads; ++thread) {
      workers_.push_back(std::make_unique<TileWorker>(options, kernel_));
    }
  }

  std::string description() const override {
    return "cpu (" + kernel_.name() + ", " + std::to_string(options_.threads) +
           (options_.threads == 1 ? " thread)" : " threads)");
  }

  void set_queries(const QueryBatch& queries, TileSink& sink) override {
    queue_.drain();
    threads_.clear();
    queries_.emplace(queries);
    for (const auto& worker : workers_) {
      threads_.emplace_back([this, &sink, worker = worker.get()](const std::stop_token& stop) {
        work(*worker, sink, stop);
      });
    }
  }

  void submit(ItemChunk chunk) override { queue_.submit(std::move(chunk), options_.threads); }

  void drain() override { queue_.drain(); }

  std::int64_t recomputed_tiles() const override { return recomputed_; }

 private:
  void work(TileWorker& worker, TileSink& sink, const std::stop_token& stop) {
    try {
      const auto writer = sink.make_writer();
      while (auto unit = queue_.take(stop)) {
        worker.begin_column(*queries_, *unit->chunk, unit->tiles.front().column);
        for (const TileId tile : unit->tiles) {
          if (stop.stop_requested() || queue_.failed()) return;
          recomputed_ += worker.compute(tile, *writer);
        }
        queue_.done(*std::move(unit));
      }
    } catch (...) {
      queue_.fail(std::current_exception());
    }
  }

  CpuBackendOptions options_;
  CpuKernel kernel_;
  std::optional<LabelledQueries> queries_;
  std::vector<std::unique_ptr<TileWorker>> workers_;
  UnitQueue queue_;
  std::atomic<std::int64_t> recomputed_ = 0;
  std::vector<std::jthread> threads_;  // last: they end before anything they use
};

}  // namespace

std::unique_ptr<SimilarityBackend> make_cpu_backend(const CpuBackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

std::int64_t cpu_backend_bytes(const CpuBackendOptions& options, std::int64_t query_nnz,
                               std::int64_t query_columns, std::int64_t tile_nnz) {
  const std::int64_t labels = std::min(query_nnz, query_columns);
  const std::int64_t rows = options.grid.shape().queries;
  return LabelledRows::bytes(rows, query_nnz) + ranked_set_bytes(query_columns) +
         labels * std::int64_t{sizeof(std::uint32_t)} +
         options.threads * TileWorker::bytes(options, labels, tile_nnz);
}

}  // namespace bulksim
