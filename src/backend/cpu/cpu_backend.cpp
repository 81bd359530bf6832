#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/cpu/tile_threads.hpp"
#include "backend/cpu/tile_worker.hpp"
#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

namespace {

class CpuBackend final : public SimilarityBackend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : kernel_(CpuKernel::choose(options.simd)),
        threads_(options, [&](int) { return std::make_unique<TileWorker>(options, kernel_); }) {}

  std::string description() const override { return threads_.description(kernel_.name()); }
  void set_queries(const QueryBatch& queries, TileSink& sink) override {
    threads_.stop();
    queries_.emplace(queries);
    threads_.start(
        sink, [this](TileWorker& worker) { worker.begin_queries(*queries_); }, [](TileWorker&) {});
  }
  void submit(ItemChunk chunk) override { threads_.submit(std::move(chunk)); }
  void drain() override { threads_.drain(); }
  std::int64_t recomputed_tiles() const override { return threads_.recomputed(); }

 private:
  CpuKernel kernel_;
  std::optional<LabelledQueries> queries_;
  TileThreads<TileWorker> threads_;  // last: the threads end before anything they use
};

}  // namespace

std::unique_ptr<SimilarityBackend> make_cpu_backend(const CpuBackendOptions& options) {
  if (options.sub_block < 1 || options.sub_block > kMaxBlockItems) {
    throw Error(ExitCode::kUsage, "invalid sub-block of " + std::to_string(options.sub_block) +
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
