#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cpu_kernel.hpp"
#include "backend/tile_worker.hpp"
#include "backend/unit_queue.hpp"
#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

namespace {

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
    drain();
    threads_.clear();
    queries_.emplace(queries);
    for (const auto& worker : workers_) {
      threads_.emplace_back([this, &sink, worker = worker.get()](const std::stop_token& stop) {
        work(*worker, sink, stop);
      });
    }
  }

  void submit(ItemChunk chunk) override {
    stopping_on_failure([&] { queue_.submit(std::move(chunk), options_.threads); });
  }

  void drain() override {
    stopping_on_failure([&] { queue_.drain(); });
  }

  std::int64_t recomputed_tiles() const override { return recomputed_; }

 private:
  /// Whoever gets a failure may drop the queries and the sink: no thread uses them any more.
  template <class Step>
  void stopping_on_failure(const Step& step) {
    try {
      step();
    } catch (...) {
      threads_.clear();
      throw;
    }
  }

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
  if (options.sub_block < 1 || options.sub_block > kMaxBlockItems) {
    throw Error(ExitCode::kUsage, "a sub-block of " + std::to_string(options.sub_block) +
                                      " items (must be 1 to " + std::to_string(kMaxBlockItems) +
                                      ")");
  }
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
