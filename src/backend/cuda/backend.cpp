#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/cuda/pipeline.hpp"
#include "bulksim/backend/cuda_backend.hpp"
#include "cuda/device.hpp"

namespace bulksim {

namespace {

std::string description_of(const cuda::Device& device, const cuda::LaunchShape& shape) {
  return "cuda (" + device.description() + ", " + std::to_string(shape.blocks) + " x " +
         std::to_string(shape.warps) + " warps)";
}

class CudaBackend final : public SimilarityBackend {
 public:
  explicit CudaBackend(const CudaBackendOptions& options)
      : options_(options), device_(options.node_rank), shape_(cuda::LaunchShape::of(device_)) {}

  std::string description() const override { return description_of(device_, shape_); }

  void set_queries(const QueryBatch& queries, TileSink& sink) override {
    drain();
    recomputed_ = recomputed_tiles();
    cuda::on_device(device_, [&] {
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
  std::optional<cuda::Pipeline> pipeline_;
};

/// The same for pairs, of which the device leaves out most that are not wanted.
class CudaPairBackend final : public PairBackend {
 public:
  CudaPairBackend(const CudaBackendOptions& options, const ResultCut& cut)
      : options_(options),
        device_(options.node_rank),
        shape_(cuda::LaunchShape::of(device_)),
        filter_(options.grid, cut) {
    options_.content = TileContent::kValues;  // what the filter takes
  }

  std::string description() const override { return description_of(device_, shape_); }

  void set_queries(const QueryBatch& queries, PairSink& sink) override {
    drain();
    recomputed_ = recomputed_tiles();
    cuda::on_device(device_, [&] {
      pipeline_.reset();
      filter_.begin_queries(queries.range, sink);
      pipeline_.emplace(options_, device_, queries, filter_);
    });
  }

  void submit(ItemChunk chunk) override { pipeline_->submit(std::move(chunk)); }
  void drain() override {
    if (pipeline_) pipeline_->drain();
  }
  std::int64_t recomputed_tiles() const override {
    return recomputed_ + (pipeline_ ? pipeline_->recomputed() : 0);
  }
  PairWork work() const override { return filter_.work(); }

 private:
  CudaBackendOptions options_;
  cuda::Device device_;
  cuda::LaunchShape shape_;
  PairFilter filter_;
  std::int64_t recomputed_ = 0;  // by pipelines before this one
  std::optional<cuda::Pipeline> pipeline_;
};

}  // namespace

}  // namespace bulksim

extern "C" bulksim::PairBackend* bulksim_make_cuda_pair_backend(
    const bulksim::CudaBackendOptions& options, const bulksim::ResultCut& cut) {
  return new bulksim::CudaPairBackend(options, cut);
}

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options) {
  return new bulksim::CudaBackend(options);
}
