#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

/// The module with the CUDA backend and NCCL, found like any shared library.
inline constexpr char kCudaModule[] = "libbulksim_cuda.so";

/// Whether the program was built together with its module.
bool has_cuda_module();

/// The device of a process, as far as a plan needs to know it.
struct CudaDevice {
  int node_rank = 0;            ///< the device is this modulo the devices that can be seen
  std::string description;      ///< name, UUID and PCI id
  std::string uuid;             ///< "GPU-6e23b3d4-...", the same for all ranks that share it
  std::int64_t free_bytes = 0;  ///< of its memory
  std::int64_t l2_bytes = 0;    ///< of its L2 cache
  double download_rate = 0.0;   ///< measured bytes a second, device to pinned host memory
};

/// Finds the device of this process and warms it up: its context is made, every kernel of a run has
/// been launched once, and the result was right. Throws Error (69) when the module, a library of
/// it, the driver or a device is missing or fails.
CudaDevice find_cuda_device(int node_rank, const std::string& module = kCudaModule);

/// What a CUDA backend computes with; no choice here changes a bit of a result.
struct CudaBackendOptions {
  TileGrid grid;
  FixedPoint arithmetic;
  int node_rank = 0;                  ///< the device is this modulo the devices that can be seen
  int writers = 2;                    ///< threads that check finished tiles and hand them on
  int pinned_tiles = 8;               ///< tiles in pinned host memory, on their way out
  std::int64_t slice_items = 262144;  ///< item rows inverted at a time, at most (at least a tile)
  TileContent content = TileContent::kValues;
  double softmax_scale = 20.0;  ///< of the partials
  std::string module = kCudaModule;
};

/// A backend on a CUDA device. It lives in a module of its own, so that the program starts where
/// there is no CUDA. Throws Error (69) when the module, a library of it, the driver or a device is
/// missing, and Error (71) when the device has not enough memory for one column of tiles.
std::unique_ptr<SimilarityBackend> make_cuda_backend(const CudaBackendOptions& options);

/// The same for pairs: the device leaves out what `cut` does not want, as far as scores decide
/// that, and of the best of each query what those found before are better than.
std::unique_ptr<PairBackend> make_cuda_pair_backend(const CudaBackendOptions& options,
                                                    const PairFilterSpec& spec);

/// Pinned host memory that the backend holds beside the queries and chunks it is given, in bytes.
///
/// `chunk_nnz` are the entries of the fullest chunk.
std::int64_t cuda_backend_host_bytes(const CudaBackendOptions& options, std::int64_t chunk_nnz);
std::int64_t cuda_pair_backend_host_bytes(const CudaBackendOptions& options,
                                          const PairFilterSpec& spec, std::int64_t chunk_nnz);

}  // namespace bulksim
