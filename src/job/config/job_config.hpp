#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blocks/selection.hpp"
#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "formats/shared/row_stream.hpp"
#include "storage/run/tile_log.hpp"

namespace bulksim {

enum class Dimensions {
  kMustAgree,  ///< queries and items have the same number of columns
  kPad,        ///< the narrower side gets empty columns
};

enum class ZeroRows {
  kZero,   ///< an empty row has cosine 0 with every row, itself included
  kNan,    ///< its cosines are NaN
  kError,  ///< an empty row is refused
};

enum class Repeat {
  kReuse,      ///< a published result of the same plan is returned
  kRecompute,  ///< always a new version
};

enum class Durability {
  kOn,   ///< finished work survives a stop of any kind, and the output has one writer
  kOff,  ///< no syncs, no lease, no journal
};

/// How many tiles are read back before they are published.
enum class ReadBack { kNone, kSample, kFull };

/// What happens when a result differs too much from the previous version.
enum class Guard {
  kOff,
  kOn,      ///< too large a change is computed but not published
  kAccept,  ///< the change is published
};

/// The hardware that computes the tiles.
enum class BackendWish {
  kAuto,  ///< devices if every rank has one, else the CPU
  kCpu,
  kCuda,  ///< devices; an error where a rank has none
};

/// The parts of the matrix that are written.
enum class Mode {
  kFull,    ///< every value, or the requested pairs
  kBlocks,  ///< its block sums alone
};

/// Whether the block sums of the softmax are computed.
enum class BlockSumsWanted {
  kAuto,  ///< with a matrix or alone, not with pairs
  kOn,
  kOff,
};

/// Parts of a result: readers under `ulimit -n 256` open all of them.
inline constexpr std::int64_t kMostParts = 240;

/// The options of a run, already checked.
struct JobConfig {
  std::string items;
  std::string queries;  ///< empty: the items are compared with themselves
  std::string output;
  std::string item_ids;    ///< file with the ids of the items, one per line; may be empty
  std::string query_ids;   ///< the same for the queries
  std::string vocabulary;  ///< file of terms, one per line; may be empty
  VectorKeys keys = VectorKeys::kTerms;  ///< what the keys of JSONL vectors are
  Irregular irregular = Irregular::kAccept;
  ZeroRows zero_rows = ZeroRows::kZero;
  Dimensions dimensions = Dimensions::kMustAgree;
  Metric metric = Metric::kCosine;
  ValueType value_type = ValueType::kFloat32;  ///< of the full matrix
  std::optional<PairFilterSpec> filter;        ///< the requested pairs; none: the full matrix
  Mode mode = Mode::kFull;
  BlockSumsWanted block_sums = BlockSumsWanted::kAuto;
  double softmax_scale = 20.0;
  std::optional<Selection> select;  ///< compute only tiles with blocks that an estimate chooses
  std::int64_t stride = 8;          ///< rows per group of the estimate
  std::optional<TileShape> tile;
  std::optional<std::int64_t> parts;
  std::optional<std::int64_t> chunk_rows;  ///< item rows in flight, rounded up to whole tiles
  std::optional<std::int64_t> memory;      ///< bytes per rank
  std::optional<int> threads;              ///< per rank
  BackendWish backend = BackendWish::kAuto;
  std::optional<std::int64_t> max_output;  ///< bytes
  Repeat repeat = Repeat::kReuse;
  bool overwrite = false;           ///< replace even a file that is not a result
  std::string run_tag = "bulksim";  ///< of a TREC run
  bool replace_blanks = false;      ///< in the ids of a TREC run
  Durability durability = Durability::kOn;
  ReadBack read_back = ReadBack::kSample;
  Guard guard = Guard::kOff;
  std::int64_t keep = 3;            ///< versions
  double keep_days = 7.0;           ///< of staging folders of other plans
  CommitPolicy commit;              ///< when finished tiles are made durable
  std::string metrics_file;         ///< a copy of the metrics; may be empty
  std::optional<double> max_hours;  ///< after which the run stops itself

  /// The side that queries are read from.
  const std::string& query_path() const { return queries.empty() ? items : queries; }
  /// The file that ids of queries are read from; may be empty.
  const std::string& query_ids_path() const { return queries.empty() ? item_ids : query_ids; }
};

}  // namespace bulksim
