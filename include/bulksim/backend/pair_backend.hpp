#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Pairs of one query row of a tile, items ascending, at least one.
///
/// Rows come ascending, but may begin with any of them and go on with the first after the last.
/// They hold every wanted pair, and with kBest and kSample perhaps others: who merges the tiles of
/// a query keeps those with the highest rank key.
struct PairStripe {
  std::int64_t query = 0;
  std::span<const ScoredItem> pairs;
};

using PairWriter = Writer<PairStripe>;
using PairSink = Sink<PairStripe>;

/// What the bounds have saved.
struct PairStats {
  std::int64_t cells = 0;            ///< of the tiles that were computed
  std::int64_t skipped = 0;          ///< cells of blocks of items whose bound was below the cut
  std::int64_t candidates = 0;       ///< cells that were computed exactly
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

/// A backend of the wanted pairs; checks each tile as far as it was computed.
class PairBackend : public Backend<PairStripe> {
 public:
  /// So far, of finished tiles.
  virtual PairStats work() const = 0;
};

/// A backend on the processors of this machine that leaves out what cannot pass the cut, wherever
/// this pays. Throws Error (64) when they lack the instruction set asked for.
std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const PairFilterSpec& spec);

/// A backend that takes the pairs from the finished tiles of another one.
std::unique_ptr<PairBackend> make_filtering_backend(std::unique_ptr<SimilarityBackend> backend,
                                                    const TileGrid& grid,
                                                    const PairFilterSpec& spec);

/// Largest memory that the CPU backend holds beside the queries and chunks it is given, in bytes;
/// the numbers are those of `cpu_backend_bytes`.
std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t tile_nnz);

}  // namespace bulksim
