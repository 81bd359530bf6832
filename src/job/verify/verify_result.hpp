#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "core/run/log.hpp"
#include "job/input/import_matrix.hpp"

namespace bulksim {

enum class VerifyDepth {
  kQuick,  ///< all files, their sizes and metadata; no tile is read
  kFull,   ///< every byte
};

struct VerifyOptions {
  std::string path = {};  ///< OUT, a version, or one result file
  VerifyDepth depth = VerifyDepth::kFull;
  std::string against_items =
      {};  ///< inputs from which cells of every tile are recomputed; may be empty
  std::string against_queries = {};
  std::string item_ids = {};  ///< files of ids, one per line; empty: those of the inputs
  std::string query_ids = {};
  ImportOptions against = {};  ///< as in the run; ids are not needed
  /// What a file that does not hold these was computed with.
  std::optional<PairFilterSpec> filter = {};
  Metric metric = Metric::kCosine;
  int threads = 1;
};

/// A difference from what was published.
struct Damage {
  std::string file;  ///< relative to the version, or the file itself
  std::string what;
  std::optional<std::size_t> part = std::nullopt;
  std::optional<TileId> tile = std::nullopt;
  RowRange queries = {};  ///< rows and columns of the tile
  RowRange items = {};
  std::int64_t offset = 0;  ///< of the tile in its file, in bytes
};

/// The result of a verification.
struct Verdict {
  std::string path;
  std::int64_t files = 0;
  std::int64_t tiles = 0;    ///< that were read
  std::int64_t cells = 0;    ///< that were recomputed
  bool has_checksum = true;  ///< whether the file holds digests of its bytes
  std::vector<Damage> damage;

  std::string to_json() const;
  /// One line per damage, and a summary line.
  std::string to_text() const;
};

/// Checks a published result. Inputs that cannot be read by ranges are imported into a temporary
/// folder. Throws Error (66) when there is none, and Error (74) when a file cannot be read; damage
/// is in the verdict.
Verdict verify(FileCalls& calls, const VerifyOptions& options, Log& log);

}  // namespace bulksim
