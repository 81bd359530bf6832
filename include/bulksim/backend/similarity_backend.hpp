#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/backend/sink.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// Adjacent query rows of one tile. A backend delivers them in ascending order.
///
///                items
///             i0  i1  i2 ..     values[r * tile.items + i]: rows are queries, as in the file.
///   row  r0   .   .   .         Rows and columns past the edge of the matrix are zeros, so that a
///        r0+1 .   .   .         whole tile is always tile.queries x tile.items values.
struct TileStripe {
  using Work = TileId;

  TileId tile;
  std::int64_t first_row = 0;  ///< within the tile
  std::int64_t rows = 0;
  std::span<const float> values;
  /// Softmax partials of the block sums, when requested: partials[r * blocks + b] is that of row r
  /// and the b-th 1,024 items of the tile. `blocks` is the number for a whole tile, also at the
  /// edge of the matrix.
  std::span<const SoftmaxPartial> partials = {};
};

/// What a backend delivers for each tile.
enum class TileContent {
  kValues,             ///< cosines
  kValuesAndPartials,  ///< cosines and softmax partials
  kPartials,           ///< softmax partials; `values` may be empty
};

using TileWriter = Writer<TileStripe>;
using TileSink = Sink<TileStripe>;

/// A batch of query rows that stays in the backend until it is replaced.
struct QueryBatch {
  RowRange range;  ///< rows of the matrix; begins at a tile border
  SharedRows rows;
  bool are_items = false;  ///< the items are the same rows
  /// With kBest: whether the first `count` + 1 items are known to have no negative values. Then the
  /// scores of any query without negative values with them are at least 0.
  bool first_items_are_positive = false;
};

/// Item rows and the tiles to compute with them.
struct ItemChunk {
  RowRange range;  ///< rows of the matrix; begins at a tile border
  SharedRows rows;
  std::vector<TileId> tiles;  ///< by column, then row; all inside the query batch and this range
  /// Number of tiles in later chunks of the batch. Does not affect results: when many tiles remain,
  /// a thread takes more of them at once.
  std::int64_t tiles_to_come = 0;
};

/// Computes tiles asynchronously on one device and checks each before it counts as done. A tile or
/// row that fails its checks is recomputed; one that failed its checks twice is an Error (70) with
/// tile, host and device.
template <class Stripe>
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// For logs and reports: "cpu (AVX3, 2 threads)".
  virtual std::string description() const = 0;
  /// Replaces the queries; no chunk may be in flight. `queries` must outlive its chunks. `sink`
  /// must outlive the backend or remain valid until the next call.
  virtual void set_queries(const QueryBatch& queries, Sink<Stripe>& sink) = 0;
  /// Queues a chunk and returns before it is computed. Waits while the maximum number of chunks is
  /// in flight (two, unless the options set another). Throws the error of an earlier chunk.
  virtual void submit(ItemChunk chunk) = 0;
  /// Waits until every tile of every chunk is finished; throws the error of a chunk that failed.
  virtual void drain() = 0;
  /// Number of tiles that failed their checks once and passed after recomputation.
  virtual std::int64_t recomputed_tiles() const = 0;
};

/// A backend that delivers whole tiles.
///
/// Each tile passes three exact checks: the row identity sum_i A(q,i) = Q . sum_i I modulo 2^64 for
/// each query and each 1,024 items, the column identity where it is cheap, and a comparison of
/// `kSampledCells` cells of the finished tile with a merge of the two rows.
using SimilarityBackend = Backend<TileStripe>;

/// Cells per tile that are compared with a merge of the two rows.
inline constexpr int kSampledCells = 64;

/// Instruction set of the CPU kernel.
enum class Simd {
  kBest,  ///< the widest that this CPU supports
  kAvx512,
  kAvx2,
  kSse4,
  kScalar,  ///< no SIMD
};

/// Options of a CPU backend. `threads`, `chunks_in_flight`, `simd`, block sizes and `dense_share`
/// do not change a bit of the result.
struct CpuBackendOptions {
  TileGrid grid;
  FixedPoint arithmetic;
  int threads = 1;
  std::int64_t chunks_in_flight = 2;  ///< `submit` waits when there are more
  Simd simd = Simd::kBest;
  std::int64_t sub_block = 2048;  ///< items per inner step, at most 2,048
  /// Items per step of the pair search, at most 4,096.
  std::int64_t search_block = 4096;
  double dense_share = 0.12;  ///< a column in more than this share of a sub-block's items is dense
  TileContent content = TileContent::kValues;  ///< partials need sub-blocks of whole fine blocks
  double softmax_scale = 20.0;                 ///< of the softmax partials
  /// For tests that corrupt values: called before the checks, from any thread, with each stripe or
  /// the score of each pair.
  std::function<void(TileId, std::span<float>)> before_checks = nullptr;
};

/// A CPU backend. Throws Error (64) when the CPU does not support the requested instruction set.
std::unique_ptr<SimilarityBackend> make_cpu_backend(const CpuBackendOptions& options);

/// Peak memory of the CPU backend in bytes, without the query batch and the chunks passed to it.
///
/// `query_nnz` and `query_columns` (the dimension) describe the largest query batch; `tile_nnz` is
/// the largest number of entries in the item rows of a column of tiles.
std::int64_t cpu_backend_bytes(const CpuBackendOptions& options, std::int64_t query_nnz,
                               std::int64_t query_columns, std::int64_t tile_nnz);

}  // namespace bulksim
