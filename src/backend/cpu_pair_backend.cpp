#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "backend/best_preferences.hpp"
#include "backend/cpu_kernel.hpp"
#include "backend/pair_worker.hpp"
#include "backend/unit_queue.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

namespace {

class CpuPairBackend final : public PairBackend {
 public:
  CpuPairBackend(const CpuBackendOptions& options, const ResultCut& cut)
      : options_(options), cut_(cut), name_(CpuKernel::choose(options.simd).name()) {
    for (int thread = 0; thread < options.threads; ++thread) {
      workers_.push_back(std::make_unique<PairWorker>(options, cut));
    }
  }

  std::string description() const override {
    return "cpu (" + name_ + ", " + std::to_string(options_.threads) +
           (options_.threads == 1 ? " thread)" : " threads)");
  }

  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    drain();
    threads_.clear();
    queries_.emplace(queries);
    best_.reset();
    if (cut_.keep != Keep::kAll) best_.emplace(queries.rows.rows(), cut_.count);
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

  PairWork work() const override {
    const std::lock_guard lock(work_mutex_);
    return work_;
  }

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

  void work(PairWorker& worker, PairSink& sink, const std::stop_token& stop) {
    try {
      const auto writer = sink.make_writer();
      worker.begin_queries(*queries_, best_ ? &*best_ : nullptr);
      while (auto unit = queue_.take(stop)) {
        worker.begin_column(*unit->chunk, unit->tiles.front().column);
        for (const TileId tile : unit->tiles) {
          if (stop.stop_requested() || queue_.failed()) return;
          recomputed_ += worker.compute(tile, *writer);
        }
        {
          const std::lock_guard lock(work_mutex_);
          work_ += worker.take_work();
        }
        queue_.done(*std::move(unit));
      }
    } catch (...) {
      queue_.fail(std::current_exception());
    }
  }

  CpuBackendOptions options_;
  ResultCut cut_;
  std::string name_;
  std::optional<SearchQueries> queries_;
  std::optional<BestPreferences> best_;
  std::vector<std::unique_ptr<PairWorker>> workers_;
  UnitQueue queue_;
  std::atomic<std::int64_t> recomputed_ = 0;
  mutable std::mutex work_mutex_;
  PairWork work_;
  std::vector<std::jthread> threads_;  // last: they end before anything they use
};

/// Whether bounds can leave anything out: scores of 0 cannot be told apart by them.
bool bounds_pay(const ResultCut& cut) {
  return cut.keep == Keep::kBest || cut.at_least > 0.0f;
}

}  // namespace

std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const ResultCut& cut) {
  if (bounds_pay(cut)) return std::make_unique<CpuPairBackend>(options, cut);
  return make_filtering_backend(make_cpu_backend(options), options.grid, cut);
}

std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const ResultCut& cut,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t tile_nnz) {
  const std::int64_t rows = options.grid.shape().queries;
  const std::int64_t best = cut.keep == Keep::kAll ? 0 : BestPreferences::bytes(rows, cut.count);
  if (!bounds_pay(cut)) {
    return best + cpu_backend_bytes(options, query_nnz, query_columns, tile_nnz);
  }
  const std::int64_t labels = std::min(query_nnz, query_columns);
  return best + SearchQueries::bytes(rows, query_nnz, labels) + ranked_set_bytes(query_columns) +
         options.threads * PairWorker::bytes(options, query_nnz, labels, tile_nnz);
}

}  // namespace bulksim
