#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "backend/cuda/stream/download_rate.hpp"
#include "core/run/phase_timer.hpp"
#include "cuda/buffer.hpp"
#include "cuda/device.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {

namespace cuda {

double download_rate() {
  constexpr std::int64_t kBytes = 16 << 20;  // a tile
  constexpr int kCopies = 4;
  const Stream stream;
  const DeviceBuffer<std::byte> from(kBytes);
  const PinnedBuffer<std::byte> to(kBytes);
  clear(from.data(), kBytes, stream);
  download(from.data(), to, kBytes, stream);
  stream.wait();
  const Stopwatch watch;
  for (int copy = 0; copy < kCopies; ++copy)
    download(from.data(), to, kBytes, stream);
  stream.wait();
  return kCopies * static_cast<double>(kBytes) / std::max(watch.seconds(), 1e-9);
}

}  // namespace cuda

namespace {

class NullSink final : public TileSink {
 public:
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(); }

 private:
  class Writer final : public TileWriter {
   public:
    void begin(TileId /*tile*/) override {}
    void write(const TileStripe& /*stripe*/) override {}
    void finish() override {}
  };
};

/// Rows of these lengths: the first columns, with equal values.
QuantizedRows rows_of_lengths(std::initializer_list<Column> lengths) {
  QuantizedRows rows;
  for (const Column length : lengths) {
    rows.columns = std::max<std::int64_t>(rows.columns, length);
    for (Column column = 0; column < length; ++column) {
      rows.col_indices.push_back(column);
      rows.values.push_back(1);
    }
    rows.row_offsets.push_back(std::ssize(rows.values));
    rows.scales.push_back(1.0 / std::sqrt(static_cast<double>(length)));
  }
  return rows;
}

/// Computes one tile, checked like any other: a row for the long-row kernel and a short one.
void warm_up(int node_rank) {
  constexpr auto kLong = static_cast<Column>(cuda::kLongRow + 1);
  const TileGrid grid({2, 2}, {2, 2});
  const QueryBatch queries{{0, 2}, rows_of_lengths({kLong, 1})};
  CudaBackendOptions options;
  options.grid = grid;
  options.node_rank = node_rank;
  options.writers = 1;
  options.pinned_tiles = 1;
  NullSink sink;
  const std::unique_ptr<SimilarityBackend> backend(bulksim_make_cuda_backend(options));
  backend->set_queries(queries, sink);
  backend->submit({{0, 2}, rows_of_lengths({2, 1}), {{0, 0}}});
  backend->drain();
}

}  // namespace

}  // namespace bulksim

/// Entry point for the program, which loads this module.
extern "C" void bulksim_find_cuda_device(int node_rank, bulksim::CudaDevice& found) {
  const bulksim::cuda::Device device(node_rank);
  bulksim::warm_up(node_rank);
  found.node_rank = node_rank;
  found.description = device.description();
  found.uuid = device.uuid();
  found.free_bytes = device.free_bytes();
  found.l2_bytes = device.l2_bytes();
  found.download_rate = bulksim::cuda::download_rate();
}
