#pragma once

#include <cstdint>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "blocks/fine_grid.hpp"

// What a backend returns of each tile, for its parts.
namespace bulksim::cuda {

inline bool has_values(const CudaBackendOptions& options) {
  return options.content != TileContent::kPartials;
}

inline bool has_partials(const CudaBackendOptions& options) {
  return options.content != TileContent::kValues;
}

inline Output output_of(const CudaBackendOptions& options) {
  if (!has_partials(options)) return Output::kValues;
  return has_values(options) ? Output::kBoth : Output::kPartials;
}

/// Values of one tile, or 0.
inline std::int64_t tile_values(const CudaBackendOptions& options) {
  return has_values(options) ? options.grid.tile().cells() : 0;
}

/// Partials of one tile, or 0.
inline std::int64_t tile_partials(const CudaBackendOptions& options) {
  return has_partials(options) ? partials_per_tile(options.grid) : 0;
}

}  // namespace bulksim::cuda
