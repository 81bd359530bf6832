#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "backend/cuda/chunk_queue.hpp"
#include "backend/cuda/second_opinion.hpp"
#include "backend/cuda/tile_feeder.hpp"
#include "backend/cuda/tile_ring.hpp"
#include "backend/tile_checks.hpp"
#include "bulksim/backend/cuda_backend.hpp"
#include "bulksim/core/bounded_queue.hpp"
#include "cuda/device.hpp"

namespace bulksim {

namespace {

using cuda::ChunkQueue;
using cuda::Delivery;
using cuda::PinnedTile;

/// 1 MiB: hashed and written while it is in the cache of a core.
constexpr std::int64_t kStripeValues = 1 << 18;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

/// Runs `body` with the device of this thread set, and names the device in its errors.
template <class Body>
void on_device(const cuda::Device& device, Body body) {
  try {
    device.use();
    body();
  } catch (const cuda::CallError& error) {
    throw Error(error.code(), std::string(error.what()) + " on " + device.description());
  }
}

/// The work on one query batch: one thread feeds the device, others check the tiles that come down
/// and hand them on. The first failure of any thread ends all.
class Pipeline {
 public:
  Pipeline(const CudaBackendOptions& options, const cuda::Device& device, const QueryBatch& batch,
           TileSink& sink)
      : options_(options),
        device_(device),
        batch_(batch),
        sink_(sink),
        ring_(options.pinned_tiles, options.grid.tile().cells()),
        deliveries_(static_cast<std::size_t>(options.pinned_tiles)),
        feeder_(options, device, batch),
        second_opinion_(options, batch, feeder_.queries()) {
    threads_.emplace_back([this] { guarded([this] { feed(); }); });
    for (int writer = 0; writer < options.writers; ++writer) {
      threads_.emplace_back([this] { guarded([this] { write(); }); });
    }
  }

  ~Pipeline() { halt(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void submit(ItemChunk chunk) {
    halting_on_failure([&] { chunks_.submit(std::move(chunk)); });
  }
  void drain() {
    halting_on_failure([&] { chunks_.drain(); });
  }
  std::int64_t recomputed() const { return recomputed_; }

 private:
  template <class Body>
  void guarded(Body body) {
    try {
      on_device(device_, body);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void fail(std::exception_ptr failure) {
    chunks_.fail(std::move(failure));
    stop();
  }

  /// Whoever gets a failure may drop the queries and the sink: no thread uses them any more.
  template <class Step>
  void halting_on_failure(const Step& step) {
    try {
      step();
    } catch (...) {
      halt();
      throw;
    }
  }

  void halt() {
    chunks_.close();
    stop();
    threads_.clear();
  }

  void stop() {
    stopped_ = true;
    deliveries_.close();
    ring_.close();
  }

  void feed() {
    while (const auto chunk = chunks_.take()) {
      feeder_.run(*chunk, ring_,
                  [this](Delivery delivery) { return deliveries_.push(std::move(delivery)); });
    }
  }

  void write() {
    const auto writer = sink_.make_writer();
    const TileShape& shape = options_.grid.tile();
    const std::int64_t stripe_rows = std::max<std::int64_t>(1, kStripeValues / shape.items);
    while (auto delivery = deliveries_.pop()) {
      if (stopped_) return;
      PinnedTile& pinned = *delivery->pinned;
      pinned.arrived.wait();
      verify(delivery->chunk->chunk, delivery->tile, pinned);
      writer->begin(delivery->tile);
      for (std::int64_t row = 0; row < shape.queries; row += stripe_rows) {
        const std::int64_t rows = std::min(stripe_rows, shape.queries - row);
        writer->write({delivery->tile, row, rows,
                       pinned.values.view().subspan(static_cast<std::size_t>(row * shape.items),
                                                    static_cast<std::size_t>(rows * shape.items))});
      }
      writer->finish();
      ring_.give_back(&pinned);
      chunks_.tile_done(*delivery->chunk);
    }
  }

  /// Returns with a tile whose checks have held.
  void verify(const ItemChunk& chunk, TileId tile, PinnedTile& pinned) {
    if (holds(chunk, tile, pinned)) return;
    second_opinion_.compute(chunk, tile, pinned);
    if (!holds(chunk, tile, pinned)) {
      throw Error(ExitCode::kSoftware,
                  "tile " + std::to_string(tile.row) + "," + std::to_string(tile.column) +
                      " came out wrong twice on " + host_name() + ", " + device_.description() +
                      " (do not trust this device; run elsewhere)");
    }
    ++recomputed_;
  }

  bool holds(const ItemChunk& chunk, TileId tile, const PinnedTile& pinned) const {
    if (*pinned.mismatches.data() != 0) return false;
    const RowRange rows = options_.grid.queries(tile.row);
    const RowRange items = options_.grid.items(tile.column);
    const std::int64_t width = options_.grid.tile().items;
    for (const Cell& cell : sampled_cells(options_.grid.number(tile), rows.size(), items.size())) {
      const float value = pinned.values.data()[cell.row * width + cell.item];
      if (!is_cosine_of(value, batch_.rows, rows.begin - batch_.range.begin + cell.row, chunk.rows,
                        items.begin - chunk.range.begin + cell.item, options_.arithmetic)) {
        return false;
      }
    }
    return true;
  }

  const CudaBackendOptions& options_;
  const cuda::Device& device_;
  const QueryBatch& batch_;
  TileSink& sink_;
  ChunkQueue chunks_;
  cuda::TileRing ring_;
  BoundedQueue<Delivery> deliveries_;
  cuda::TileFeeder feeder_;
  cuda::SecondOpinion second_opinion_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> recomputed_ = 0;
  std::vector<std::jthread> threads_;  // last: they end before anything they use
};

class CudaBackend final : public SimilarityBackend {
 public:
  explicit CudaBackend(const CudaBackendOptions& options)
      : options_(options), device_(options.node_rank), shape_(cuda::LaunchShape::of(device_)) {}

  std::string description() const override {
    return "cuda (" + device_.description() + ", " + std::to_string(shape_.blocks) + " x " +
           std::to_string(shape_.warps) + " warps)";
  }

  void set_queries(const QueryBatch& queries, TileSink& sink) override {
    drain();
    recomputed_ = recomputed_tiles();
    on_device(device_, [&] {
      pipeline_.reset();
      pipeline_.emplace(options_, device_, queries, sink);
    });
  }

  void submit(ItemChunk chunk) override { pipeline_->submit(std::move(chunk)); }
  void drain() override {
    if (pipeline_) pipeline_->drain();
  }
  std::int64_t recomputed_tiles() const override {
    return recomputed_ + (pipeline_ ? pipeline_->recomputed() : 0);
  }

 private:
  CudaBackendOptions options_;
  cuda::Device device_;
  cuda::LaunchShape shape_;
  std::int64_t recomputed_ = 0;  // by pipelines before this one
  std::optional<Pipeline> pipeline_;
};

}  // namespace

}  // namespace bulksim

/// The one function of the module.
extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options) {
  return new bulksim::CudaBackend(options);
}
