#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Tiles that are finished together.
struct PairWork {
  enum class Stage {
    kPairs,   ///< every wanted pair of the tiles is delivered
    kSearch,  ///< nothing is delivered: the tiles are only searched (kBest)
    kLists,   ///< the best pairs of the queries of the tiles, searched before, are delivered
  };

  std::span<const TileId> tiles;
  Stage stage = Stage::kPairs;
};

/// Pairs of one query of a group of tiles: at least one, in ascending order of items.
///
/// The stripes of a group arrive in any order, and a query may have several, of different ranges of
/// items. All have passed their checks: a group is not restarted. With kSample more may be
/// delivered than is wanted: the code that merges the groups of a query keeps those with the
/// highest rank keys.
struct PairStripe {
  using Work = PairWork;

  std::int64_t query = 0;
  std::span<const ScoredItem> pairs;
};

using PairWriter = Writer<PairStripe>;
using PairSink = Sink<PairStripe>;

/// How the CPU finds pairs. All ways find the same ones.
enum class PairWay {
  kJoin,    ///< the postings of rare columns, and exact sums of what passes their test
  kSweep,   ///< coarse sums of whole blocks, and exact sums of what can reach the score
  kFilter,  ///< all sums, of which those that reach the score are kept
};
inline constexpr std::array kPairWays{PairWay::kJoin, PairWay::kSweep, PairWay::kFilter};

/// How the pairs were found, and how much work the bounds have saved.
struct PairStats {
  std::array<std::int64_t, kPairWays.size()> cells_of_way{};  ///< in the computed tiles
  std::int64_t cells = 0;                                     ///< in blocks that were searched
  std::int64_t skipped = 0;          ///< cells in item blocks whose bound was below the threshold
  std::int64_t candidates = 0;       ///< cells computed exactly
  std::int64_t products = 0;         ///< multiply-adds of the bounds
  std::int64_t useful_products = 0;  ///< multiply-adds of all cells

  PairStats& operator+=(const PairStats& other) {
    for (std::size_t way = 0; way < cells_of_way.size(); ++way)
      cells_of_way[way] += other.cells_of_way[way];
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
  /// With kBest: the best pairs found so far of each of these queries of the batch that has any.
  /// No chunk may be in flight.
  virtual void for_each_list(RowRange queries,
                             const std::function<void(const PairStripe&)>& take) const = 0;
};

/// A CPU backend that finds the pairs of each part of the matrix in the way that costs least there,
/// or in `only_way` if that can find them. Throws Error (64) when the CPU does not support the
/// requested instruction set.
std::unique_ptr<PairBackend> make_cpu_pair_backend(const CpuBackendOptions& options,
                                                   const PairFilterSpec& spec,
                                                   std::optional<PairWay> only_way = std::nullopt);

/// A backend that filters the finished tiles of another backend.
std::unique_ptr<PairBackend> make_filtering_backend(std::unique_ptr<SimilarityBackend> backend,
                                                    const TileGrid& grid,
                                                    const PairFilterSpec& spec);

/// Items that a thread of the CPU backend inverts together.
std::int64_t items_of_a_pair_band(const TileGrid& grid, const PairFilterSpec& spec);

/// Peak memory of the CPU backend in bytes, without the query batch and the chunks passed to it.
///
/// `query_nnz` and `query_columns` are as for `cpu_backend_bytes`; `band_nnz` is the largest number
/// of entries in the rows of a band of items.
std::int64_t cpu_pair_backend_bytes(const CpuBackendOptions& options, const PairFilterSpec& spec,
                                    std::int64_t query_nnz, std::int64_t query_columns,
                                    std::int64_t band_nnz);

}  // namespace bulksim
