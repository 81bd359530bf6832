#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/cpu/pair_worker.hpp"
#include "backend/cpu/tile_threads.hpp"
#include "backend/rows/top_k_heaps.hpp"
#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

namespace {

class CpuPairBackend final : public PairBackend {
 public:
  CpuPairBackend(const CpuBackendOptions& options, const PairFilterSpec& spec)
      : spec_(spec),
        items_(options.grid.shape().items),
        name_(CpuKernel::choose(options.simd).name()),
        threads_(options,
                 [&](int thread) { return std::make_unique<PairWorker>(options, spec, thread); }) {}

  std::string description() const override { return threads_.description(name_); }
  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    threads_.stop();
    queries_.emplace(queries);
    best_.reset();
    if (spec_.keep != Keep::kAll) best_.emplace(queries.rows.rows(), items_, spec_.count);
    threads_.start(
        sink,
        [this](PairWorker& worker) { worker.begin_queries(*queries_, best_ ? &*best_ : nullptr); },
        [this](PairWorker& worker) {
          const std::lock_guard lock(work_mutex_);
          work_ += worker.take_work();
        });
  }
  void submit(ItemChunk chunk) override { threads_.submit(std::move(chunk)); }
  void drain() override { threads_.drain(); }
  std::int64_t recomputed_tiles() const override { return threads_.recomputed(); }
  PairStats work() const override {
    const std::lock_guard lock(work_mutex_);
    return work_;
  }

 private:
  PairFilterSpec spec_;
  std::int64_t items_;
  std::string name_;
  std::optional<SearchQueries> queries_;
  std::optional<TopKHeaps> best_;
  mutable std::mutex work_mutex_;
  PairStats work_;
  TileThreads<PairWorker> threads_;  // last: the threads end before anything they use
};

/// Whether bounds can exclude anything: they cannot distinguish scores of 0.
bool bounds_pay(const PairFilterSpec& spec) {
  return spec.keep == Keep::kBest || spec.at_least > 0.0f;
}

}  // namespace

std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const PairFilterSpec& spec) {
  if (bounds_pay(spec)) return std::make_unique<CpuPairBackend>(options, spec);
  return make_filtering_backend(make_cpu_backend(options), options.grid, spec);
}

std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t tile_nnz) {
  const std::int64_t rows = options.grid.shape().queries;
  const std::int64_t best =
      spec.keep == Keep::kAll ? 0 : TopKHeaps::bytes(rows, options.grid.shape().items, spec.count);
  if (!bounds_pay(spec)) {
    return best + cpu_backend_bytes(options, query_nnz, query_columns, tile_nnz);
  }
  const std::int64_t labels = std::min(query_nnz, query_columns);
  return best + SearchQueries::bytes(rows, query_nnz, labels) + ranked_set_bytes(query_columns) +
         options.threads * PairWorker::bytes(options, query_nnz, labels, tile_nnz);
}

}  // namespace bulksim
