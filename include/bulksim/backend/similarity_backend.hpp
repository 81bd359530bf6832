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

/// Neighbouring query rows of one tile, as they leave a backend: in the order of their rows.
///
///                items
///             i0  i1  i2 ..     values[r * tile.items + i]: rows are queries, as in the file.
///   row  r0   .   .   .         Rows and columns past the edge of the matrix are zeros, so that a
///        r0+1 .   .   .         whole tile is always tile.queries x tile.items values.
struct TileStripe {
  TileId tile;
  std::int64_t first_row = 0;  ///< within the tile
  std::int64_t rows = 0;
  std::span<const float> values;
  /// Partials of the block sums, where they are asked for: partials[r * blocks + b] belongs to row
  /// r and the b-th 1,024 items of the tile; `blocks` covers a whole tile, also at the edge of the
  /// matrix.
  std::span<const SoftmaxPartial> partials = {};
};

/// What a backend leaves of each tile.
enum class TileContent {
  kValues,             ///< cosines
  kValuesAndPartials,  ///< cosines, and the partials of the block sums
  kPartials,           ///< the partials; `values` may be empty
};

using TileWriter = Writer<TileStripe>;
using TileSink = Sink<TileStripe>;

/// A batch of query rows that stays in the backend.
struct QueryBatch {
  RowRange range;  ///< rows of the matrix; begins at a tile border
  QuantizedRows rows;
};

/// Item rows in flight and the tiles they are needed for.
struct ItemChunk {
  RowRange range;  ///< rows of the matrix; begins at a tile border
  QuantizedRows rows;
  std::vector<TileId> tiles;  ///< by column, then row; all within the query batch and this range
  /// Tiles of later chunks of the batch. Moves no bit: with many to come, a thread takes more tiles
  /// at once.
  std::int64_t tiles_to_come = 0;
};

/// Computes tiles on one device, asynchronously, and checks each before it counts as done. What
/// fails, a tile or a row of it, is computed again; the second failure is an Error (70) that names
/// tile, host and device.
template <class Stripe>
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// "cpu (AVX3, 2 threads)", for logs and reports.
  virtual std::string description() const = 0;
  /// Replaces the queries; nothing may be in flight. The batch must outlive its chunks, and the
  /// sink the backend or the next call.
  virtual void set_queries(const QueryBatch& queries, Sink<Stripe>& sink) = 0;
  /// Hands a chunk over and returns while it is at work; waits while two are, or as many as the
  /// options say. Throws what went wrong with an earlier chunk.
  virtual void submit(ItemChunk chunk) = 0;
  /// Returns when every tile of every chunk is finished; throws what went wrong.
  virtual void drain() = 0;
  /// Tiles whose checks failed once and held when computed again.
  virtual std::int64_t recomputed_tiles() const = 0;
};

/// A backend of whole tiles.
///
/// Three checks with zero tolerance: the row identity sum_i A(q,i) = Q . sum_i I modulo 2^64 for
/// each query and each 1,024 items (and the column identity where it is cheap), and `kSampledCells`
/// cells of the finished tile against a merge of the two rows.
using SimilarityBackend = Backend<TileStripe>;

/// Cells of each tile that are compared with a merge of the two rows.
inline constexpr int kSampledCells = 64;

/// Instruction set of the CPU kernel.
enum class Simd {
  kBest,  ///< the best of this machine
  kAvx512,
  kAvx2,
  kSse4,
  kScalar,  ///< plain instructions of any machine
};

/// What a CPU backend computes with; no choice here changes a bit of a result.
struct CpuBackendOptions {
  TileGrid grid;
  FixedPoint arithmetic;
  int threads = 1;
  std::int64_t chunks_in_flight = 2;  ///< that `submit` does not wait for
  Simd simd = Simd::kBest;
  std::int64_t sub_block = 2048;  ///< items of one inner step, at most 2,048
  /// Items of one step of the search for pairs, at most 4,096.
  std::int64_t search_block = 4096;
  double dense_share = 0.12;  ///< columns in more than this share of a sub-block are dense
  TileContent content = TileContent::kValues;  ///< with partials, sub-blocks hold whole fine blocks
  double softmax_scale = 20.0;                 ///< of the partials
  /// Called before checks, from any thread, with each stripe, or with the score of each pair: where
  /// a test spoils values.
  std::function<void(TileId, std::span<float>)> before_checks = nullptr;
};

/// A backend on the processors of this machine. Throws Error (64) when they lack the instruction
/// set asked for.
std::unique_ptr<SimilarityBackend> make_cpu_backend(const CpuBackendOptions& options);

/// Largest memory that the backend holds beside the queries and chunks it is given, in bytes.
///
/// `query_nnz` and `query_columns` (the dimension) are those of the largest query batch, `tile_nnz`
/// the entries of the item rows of the fullest column of tiles.
std::int64_t cpu_backend_bytes(const CpuBackendOptions& options, std::int64_t query_nnz,
                               std::int64_t query_columns, std::int64_t tile_nnz);

}  // namespace bulksim
