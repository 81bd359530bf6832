#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Pairs of one query row of a tile: at least one, in ascending order of items.
///
/// The rows of a tile arrive in ascending order, but the order may start at any row and wrap around
/// once. A tile delivers every wanted pair. With kBest and kSample it may deliver more: the code
/// that merges the tiles of a query keeps those with the highest rank keys.
struct PairStripe {
  std::int64_t query = 0;
  std::span<const ScoredItem> pairs;
};

using PairWriter = Writer<PairStripe>;
using PairSink = Sink<PairStripe>;

/// How much work the bounds have saved.
struct PairStats {
  std::int64_t cells = 0;            ///< in the computed tiles
  std::int64_t skipped = 0;          ///< cells in item blocks whose bound was below the threshold
  std::int64_t candidates = 0;       ///< cells computed exactly
  std::int64_t products = 0;         ///< multiply-adds of the bounds
  std::int64_t useful_products = 0;  ///< multiply-adds of all cells

  PairStats& operator+=(const PairStats& other) {
    cells += other.cells;
    skipped += other.skipped;
    candidates += other.candidates;
    products += other.products;
    useful_products += other.useful_products;
    return *this;
  }
};

/// A backend that delivers only the wanted pairs. It checks the computed part of each tile.
class PairBackend : public Backend<PairStripe> {
 public:
  /// Statistics of the tiles finished so far.
  virtual PairStats work() const = 0;
};

/// A CPU backend that skips blocks that cannot pass the filter where this saves time. Throws Error
/// (64) when the CPU does not support the requested instruction set.
std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const PairFilterSpec& spec);

/// A backend that filters the finished tiles of another backend.
std::unique_ptr<PairBackend> make_filtering_backend(std::unique_ptr<SimilarityBackend> backend,
                                                    const TileGrid& grid,
                                                    const PairFilterSpec& spec);

/// Peak memory of the CPU backend in bytes, without the query batch and the chunks passed to it.
/// Parameters as for `cpu_backend_bytes`.
std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t tile_nnz);

}  // namespace bulksim
