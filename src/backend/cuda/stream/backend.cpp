#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/stream/pipeline.hpp"
#include "cuda/device.hpp"

namespace bulksim {

namespace {

/// The device of a backend, and its pipeline for one query batch after the other.
class DeviceWork {
 public:
  explicit DeviceWork(const CudaBackendOptions& options)
      : options_(options), device_(options.node_rank), shape_(cuda::LaunchShape::of(device_)) {}

  std::string description() const {
    return "cuda (" + device_.description() + ", " + std::to_string(shape_.blocks) + " x " +
           std::to_string(shape_.warps) + " warps)";
  }
  /// Begins a batch, for a TileSink or a PairFilter; call `end` before.
  template <class Sink>
  void begin(const QueryBatch& queries, Sink& sink) {
    cuda::on_device(device_, [&] { pipeline_.emplace(options_, device_, queries, sink); });
  }
  /// Afterwards the batch and its sink are no longer used.
  void end() {
    drain();
    recomputed_ = recomputed();
    cuda::on_device(device_, [&] { pipeline_.reset(); });
  }
  void submit(ItemChunk chunk) { pipeline_->submit(std::move(chunk)); }
  void drain() {
    if (pipeline_) pipeline_->drain();
  }
  std::int64_t recomputed() const {
    return recomputed_ + (pipeline_ ? pipeline_->recomputed() : 0);
  }

 private:
  CudaBackendOptions options_;
  cuda::Device device_;
  cuda::LaunchShape shape_;
  std::int64_t recomputed_ = 0;  // by earlier pipelines
  std::optional<cuda::Pipeline> pipeline_;
};

class CudaBackend final : public SimilarityBackend {
 public:
  explicit CudaBackend(const CudaBackendOptions& options) : work_(options) {}

  std::string description() const override { return work_.description(); }
  void set_queries(const QueryBatch& queries, TileSink& sink) override {
    work_.end();
    work_.begin(queries, sink);
  }
  void submit(ItemChunk chunk) override { work_.submit(std::move(chunk)); }
  void drain() override { work_.drain(); }
  std::int64_t recomputed_tiles() const override { return work_.recomputed(); }

 private:
  DeviceWork work_;
};

/// The options for tiles that a filter reads.
CudaBackendOptions with_values(CudaBackendOptions options) {
  options.content = TileContent::kValues;
  return options;
}

/// The same for pairs; the device drops most that are not wanted.
class CudaPairBackend final : public PairBackend {
 public:
  CudaPairBackend(const CudaBackendOptions& options, const PairFilterSpec& spec)
      : filter_(options.grid, spec), work_(with_values(options)) {}

  std::string description() const override { return work_.description(); }
  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    work_.end();
    filter_.begin_queries(queries.range, sink);
    work_.begin(queries, filter_);
  }
  void submit(ItemChunk chunk) override { work_.submit(std::move(chunk)); }
  void drain() override { work_.drain(); }
  std::int64_t recomputed_tiles() const override { return work_.recomputed(); }
  PairStats work() const override { return filter_.work(); }
  void for_each_list(RowRange queries,
                     const std::function<void(const PairStripe&)>& take) const override {
    filter_.for_each_list(queries, take);
  }

 private:
  PairFilter filter_;
  DeviceWork work_;  // last: it uses the filter
};

}  // namespace

}  // namespace bulksim

extern "C" bulksim::PairBackend* bulksim_make_cuda_pair_backend(
    const bulksim::CudaBackendOptions& options, const bulksim::PairFilterSpec& spec) {
  return new bulksim::CudaPairBackend(options, spec);
}

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options) {
  return new bulksim::CudaBackend(options);
}
