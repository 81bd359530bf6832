#include <algorithm>
#include <memory>
#include <string>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "backend/cuda/device_memory.hpp"
#include "backend/rows/top_k_heaps.hpp"
#include "blocks/fine_grid.hpp"
#include "core/run/shared_library.hpp"

namespace bulksim {

namespace {

/// A function of the module.
template <class Function>
Function function_of(const std::string& module, const char* name) {
  Function function = nullptr;
  SharedLibrary(module).find(name, function);
  return function;
}

}  // namespace

bool has_cuda_module() {
  return BULKSIM_HAS_CUDA != 0;
}

CudaDevice find_cuda_device(int node_rank, const std::string& module) {
  using Find = void (*)(int node_rank, CudaDevice& device);
  CudaDevice device;
  function_of<Find>(module, "bulksim_find_cuda_device")(node_rank, device);
  return device;
}

std::unique_ptr<SimilarityBackend> make_cuda_backend(const CudaBackendOptions& options) {
  using Make = SimilarityBackend* (*)(const CudaBackendOptions& options);
  const auto make = function_of<Make>(options.module, "bulksim_make_cuda_backend");
  return std::unique_ptr<SimilarityBackend>(make(options));
}

std::unique_ptr<PairBackend> make_cuda_pair_backend(const CudaBackendOptions& options,
                                                    const PairFilterSpec& spec) {
  using Make = PairBackend* (*)(const CudaBackendOptions& options, const PairFilterSpec& spec);
  const auto make = function_of<Make>(options.module, "bulksim_make_cuda_pair_backend");
  return std::unique_ptr<PairBackend>(make(options, spec));
}

CudaKernelRates benchmark_cuda_kernel(const QuantizedRows& queries, const QuantizedRows& items,
                                      const CudaBenchmarkOptions& options) {
  using Benchmark = void (*)(const QuantizedRows&, const QuantizedRows&,
                             const CudaBenchmarkOptions&, CudaKernelRates&);
  const auto benchmark = function_of<Benchmark>(options.module, "bulksim_benchmark_cuda_kernel");
  CudaKernelRates rates;
  benchmark(queries, items, options, rates);
  return rates;
}

std::int64_t cuda_backend_host_bytes(const CudaBackendOptions& options, std::int64_t chunk_nnz) {
  const std::int64_t of_a_tile =
      options.grid.tile().cells() * std::int64_t{sizeof(float)} +
      partials_per_tile(options.grid) * std::int64_t{sizeof(SoftmaxPartial)};
  const std::int64_t tiles = options.pinned_tiles * of_a_tile;
  const std::int64_t rows = std::max(options.slice_items, options.grid.tile().items) + 1;
  return tiles + 2 * (rows * std::int64_t{sizeof(std::int64_t)} +
                      chunk_nnz * std::int64_t{sizeof(Column) + sizeof(std::int32_t)});
}

std::int64_t cuda_pair_backend_host_bytes(const CudaBackendOptions& options,
                                          const PairFilterSpec& spec, std::int64_t chunk_nnz) {
  const TileShape& tile = options.grid.tile();
  const std::int64_t candidates =
      options.pinned_tiles * (8 * cuda::candidate_capacity(tile.cells()) + 4 * tile.queries);
  const MatrixShape& shape = options.grid.shape();
  const std::int64_t best =
      spec.keep == Keep::kAll ? 0 : TopKHeaps::bytes(shape.queries, shape.items, spec.count);
  return cuda_backend_host_bytes(options, chunk_nnz) + candidates + best;
}

}  // namespace bulksim
