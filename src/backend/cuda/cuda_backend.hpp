#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

/// The module with the CUDA backend and NCCL, found like any other shared library.
inline constexpr char kCudaModule[] = "libbulksim_cuda.so";

/// Whether the program was built with this module.
bool has_cuda_module();

/// The properties of the device of a process that a plan needs.
struct CudaDevice {
  int node_rank = 0;            ///< the device is this modulo the number of visible devices
  std::string description;      ///< name, UUID and PCI id
  std::string uuid;             ///< "GPU-6e23b3d4-...", the same for all ranks that share it
  std::int64_t free_bytes = 0;  ///< of its memory
  std::int64_t l2_bytes = 0;    ///< of its L2 cache
  double download_rate = 0.0;   ///< measured bytes per second, device to pinned host memory
};

/// Finds the device of this process and warms it up: creates its context, launches every kernel of
/// a run once and checks the result. Throws Error (69) if the module, one of its libraries, the
/// driver or the device is missing or fails.
CudaDevice find_cuda_device(int node_rank, const std::string& module = kCudaModule);

/// Options of a CUDA backend; none changes a bit of the result.
struct CudaBackendOptions {
  TileGrid grid;
  int node_rank = 0;                  ///< the device is this modulo the number of visible devices
  int writers = 2;                    ///< threads that check finished tiles and write them
  int pinned_tiles = 8;               ///< tiles in pinned host memory, not yet written
  std::int64_t slice_items = 262144;  ///< item rows inverted at a time, at most (at least one tile)
  TileContent content = TileContent::kValues;
  double softmax_scale = 20.0;  ///< of the partials
  std::string module = kCudaModule;
};

/// A backend on a CUDA device, in a separate module so that the program starts without CUDA. Throws
/// Error (69) if the module, one of its libraries, the driver or the device is missing, and Error
/// (71) if the device does not have enough memory for one column of tiles.
std::unique_ptr<SimilarityBackend> make_cuda_backend(const CudaBackendOptions& options);

/// The same for pairs: the device drops cells whose scores `spec` excludes, and for the best pairs
/// of a query those that cannot beat the best found so far.
std::unique_ptr<PairBackend> make_cuda_pair_backend(const CudaBackendOptions& options,
                                                    const PairFilterSpec& spec);

/// Bytes of pinned host memory of the backend, without the queries and chunks it is given.
///
/// `chunk_nnz` is the number of entries of the fullest chunk.
std::int64_t cuda_backend_host_bytes(const CudaBackendOptions& options, std::int64_t chunk_nnz);
std::int64_t cuda_pair_backend_host_bytes(const CudaBackendOptions& options,
                                          const PairFilterSpec& spec, std::int64_t chunk_nnz);

}  // namespace bulksim
