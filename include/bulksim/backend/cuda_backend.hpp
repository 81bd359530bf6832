#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bulksim/backend/similarity_backend.hpp"

namespace bulksim {

/// What a CUDA backend computes with; no choice here changes a bit of a result.
struct CudaBackendOptions {
  TileGrid grid;
  Grid arithmetic;
  int node_rank = 0;                  ///< the device is this modulo the devices that can be seen
  int writers = 2;                    ///< threads that check finished tiles and hand them on
  int pinned_tiles = 8;               ///< tiles in pinned host memory, on their way out
  std::int64_t slice_items = 262144;  ///< item rows inverted at a time, at most (at least a tile)
  std::string module = "libbulksim_cuda.so";  ///< what is loaded, found like any shared library
};

/// A backend on a CUDA device. It lives in a module of its own, so that the program starts where
/// there is no CUDA. Throws Error (69) when the module, a library of it, the driver or a device is
/// missing, and Error (71) when the device has not enough memory for one column of tiles.
std::unique_ptr<SimilarityBackend> make_cuda_backend(const CudaBackendOptions& options);

/// Pinned host memory that the backend holds beside the queries and chunks it is given, in bytes.
///
/// `chunk_nnz` are the entries of the fullest chunk.
std::int64_t cuda_backend_host_bytes(const CudaBackendOptions& options, std::int64_t chunk_nnz);

}  // namespace bulksim
