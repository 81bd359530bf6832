#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "formats/shared/column_map.hpp"
#include "job/plan/plan.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/run/recovery.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

/// What a result says of itself, as far as it can be believed.
struct ResultInfo {
  TileGrid grid;
  PartSet parts;
  std::vector<std::string>
      names;                    ///< of the parts (of their partials without a matrix), for people
  std::vector<Digest> digests;  ///< of tiles, or of groups of them; may be empty
  std::int64_t group = 1;       ///< tiles a digest
  bool has_nan_rows = false;    ///< cells of rows without values are NaN
  std::int64_t nan_cells = 0;   ///< so many of them
  FixedPoint arithmetic;
  ValueType value_type = ValueType::kFloat32;
  double error_bound = 0.0;
  std::optional<PairFilterSpec> filter;  ///< of a version with pairs
  Digest queries;                        ///< content of the inputs
  Digest items;
  std::vector<char> readable;  ///< by part: whether its tiles and partials are where they should be
  std::optional<Plan> plan;    ///< of a folder
};

/// Looks at everything in a version but its tiles; adds what is wrong to the verdict.
ResultInfo verify_version(FileCalls& calls, const std::string& folder, Verdict& verdict);

/// The same for a result that is one file.
ResultInfo verify_file(FileCalls& calls, const std::string& path, Verdict& verdict);

/// Reads every tile; adds those that are not what their digests say, and values that are no cosine.
void verify_tiles(FileCalls& calls, const ResultInfo& info, int threads, Verdict& verdict);

/// Looks at the partials of the block sums, forms some of them again from the cosines of their
/// tile, and the block sums from the partials.
void verify_blocks(FileCalls& calls, const ResultInfo& info, const std::string& folder,
                   Verdict& verdict);

/// Computes 64 cells of every tile from the inputs, by the definition and in float64; throws Error
/// (65) when these are not the inputs of the result.
void verify_against(FileCalls& calls, const ResultInfo& info, const SourcePair& inputs,
                    Verdict& verdict);

/// Whether a result is one of pairs, and may be opened at all.
bool is_pair_result(FileCalls& calls, const std::string& path);

/// The same as `verify_tiles` and `verify_against` for pairs in one file: every pair is looked at,
/// and with inputs the scores of 64 queries with all items are computed again. Where the cut is
/// known, no pair may be missing.
void verify_pairs(FileCalls& calls, const std::string& path, std::optional<PairFilterSpec> filter,
                  const SourcePair* inputs, Verdict& verdict);

/// False when HDF5 does not survive a damaged file: a child opens it first. To be called before
/// there are other threads.
bool survives_opening(FileCalls& calls, const std::string& path);

/// A damaged tile, with its place.
Damage damaged_tile(const ResultInfo& info, TileId tile, const std::string& what);

/// Throws Error (65) unless `content` is the digest of the rows that a result was computed from.
void require_content(const MatrixSource& source, const Digest& content, const Digest& wanted);

}  // namespace bulksim
