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
  CpuPairBackend(const CpuBackendOptions& options, const PairFilterSpec& spec,
                 std::optional<PairWay> only_way)
      : spec_(spec),
        items_(options.grid.shape().items),
        thread_count_(options.threads),
        kernel_(CpuKernel::choose(options.simd)),
        threads_(
            options,
            [&](int) { return std::make_unique<PairWorker>(options, spec, kernel_, only_way); },
            PairWorker::columns_of_a_band(options.grid, spec)) {}

  std::string description() const override { return threads_.description(kernel_.name()); }
  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    threads_.stop();
    // in rows among themselves, a column of one row matters only for its product with itself
    const bool are_others =
        spec_.partners == Partners::kOthers || spec_.partners == Partners::kLater;
    queries_.emplace(queries, queries.are_items && are_others ? 2 : 1, thread_count_);
    best_.reset();
    if (spec_.keep != Keep::kAll) {
      best_.emplace(queries.rows->rows(), items_, spec_.count, first_floor(queries));
    }
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
  void for_each_list(RowRange queries,
                     const std::function<void(const PairStripe&)>& take) const override {
    if (best_) best_->for_each_list(queries_->batch().range, queries, take);
  }

 private:
  /// Where no score with one of the first items is negative, none of a list is less than the 0 of
  /// the last of them.
  std::uint64_t first_floor(const QueryBatch& queries) const {
    const bool can_be_zero = spec_.at_least <= 0.0f && spec_.below > 0.0f && !spec_.nonzero_only;
    const bool all_items = spec_.items.begin == 0 && spec_.items.end >= items_;
    const bool applies = spec_.keep == Keep::kBest && can_be_zero && all_items &&
                         spec_.count < items_ && queries.first_items_are_positive &&
                         queries_->rows().signs() == Signs::kNonNegative;
    return applies ? rank_key(spec_, 0, spec_.count, 0.0f) - 1 : 0;
  }

  PairFilterSpec spec_;
  std::int64_t items_;
  int thread_count_;
  CpuKernel kernel_;
  std::optional<SearchQueries> queries_;
  std::optional<TopKHeaps> best_;
  mutable std::mutex work_mutex_;
  PairStats work_;
  TileThreads<PairWorker> threads_;  // last: the threads end before anything they use
};

}  // namespace

std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const PairFilterSpec& spec,
                                                   std::optional<PairWay> only_way) {
  return std::make_unique<CpuPairBackend>(options, spec, only_way);
}

std::int64_t items_of_a_pair_band(const TileGrid& grid, const PairFilterSpec& spec) {
  return std::min(PairWorker::columns_of_a_band(grid, spec) * grid.tile().items,
                  grid.shape().items);
}

std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t band_nnz) {
  const std::int64_t rows = options.grid.shape().queries;
  const std::int64_t best =
      spec.keep == Keep::kAll ? 0 : TopKHeaps::bytes(rows, options.grid.shape().items, spec.count);
  const std::int64_t labels = std::min(query_nnz, query_columns);
  return best + SearchQueries::bytes(rows, query_nnz, labels) + ranked_set_bytes(query_columns) +
         options.threads * PairWorker::bytes(options, spec, query_nnz, labels, band_nnz);
}

}  // namespace bulksim
