#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "formats/shared/column_map.hpp"
#include "job/plan/plan.hpp"
#include "job/verify/reference_pairs.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/run/recovery.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

/// The description of a result, as far as it is trusted.
struct ResultInfo {
  TileGrid grid;
  PartSet parts;
  std::vector<std::string>
      names;                    ///< of the parts (of their partials without a matrix), for messages
  std::vector<Digest> digests;  ///< of tiles, or of groups of them; may be empty
  std::int64_t group = 1;       ///< tiles per digest
  bool has_nan_rows = false;    ///< cells of empty rows are NaN
  std::int64_t nan_cells = 0;   ///< the number of such cells
  int arithmetic_version = kArithmeticVersion;
  FixedPoint arithmetic;
  ValueType value_type = ValueType::kFloat32;
  double error_bound = 0.0;
  std::optional<PairFilterSpec> filter;  ///< of a version with pairs
  Digest queries;                        ///< content of the inputs
  Digest items;
  std::vector<char> readable;  ///< by part: whether its files have the right size
  std::optional<Plan> plan;    ///< of a folder
};

/// Checks everything in a version except its tiles; adds the damage to the verdict.
ResultInfo verify_version(FileCalls& calls, const std::string& folder, Verdict& verdict);

/// The same for a single-file result.
ResultInfo verify_file(FileCalls& calls, const std::string& path, Verdict& verdict);

/// Reads every tile; adds those that do not match their digests, and values that are not scores.
void verify_tiles(FileCalls& calls, const ResultInfo& info, int threads, Verdict& verdict);

/// Checks the partials of the block sums: recomputes some of them from the cosines of their tile,
/// and the block sums from the partials; those of an older arithmetic by their digests only.
void verify_blocks(FileCalls& calls, const ResultInfo& info, const std::string& folder,
                   Verdict& verdict);

/// Computes 64 cells of every tile from the inputs, by the definition and with float64; throws
/// Error (65) when these are not the inputs of the result.
void verify_against(FileCalls& calls, const ResultInfo& info, const SourcePair& inputs,
                    Verdict& verdict);

/// Whether a result contains pairs and can be opened.
bool is_pair_result(FileCalls& calls, const std::string& path);

/// The same as `verify_tiles` and `verify_against` for pairs, or the matrix of an .npy, in one
/// file: every byte is read and every pair checked, and with a reference the scores of 64 queries
/// with all items are recomputed. Where the filter is known, no pair may be missing.
void verify_pairs(FileCalls& calls, const std::string& path, const PairReference* reference,
                  Verdict& verdict);

/// Collects faults of one file.
class Faults {
 public:
  Faults(const std::string& file, Verdict& verdict) : file_(file), verdict_(verdict) {}

  void add(const std::string& what);
  void add(std::int64_t query, const std::string& what);
  /// What a recomputation finds, after all rows were noted.
  void add_wrong_pairs(std::optional<PairRecomputation>& recomputation, Verdict& verdict);

 private:
  const std::string& file_;
  Verdict& verdict_;
};

/// The parts of `verify_pairs` for text and .npy, which hold no digests.
void verify_text(FileCalls& calls, const std::string& path, const PairReference* reference,
                 Faults& faults, Verdict& verdict);
void verify_npy(FileCalls& calls, const std::string& path, const PairReference* reference,
                Faults& faults, Verdict& verdict);

/// Throws Error (65), with what to do, when a single-file result that is published already does not
/// match its digests. Files over 1 GiB are not read.
void require_intact(FileCalls& calls, const std::string& result);

/// False when HDF5 crashes on a damaged file: a child process opens it first. Must be called before
/// other threads are started.
bool survives_opening(FileCalls& calls, const std::string& path);

/// The name of a file of softmax partials in a result of a version of the arithmetic.
inline std::string partials_of(int arithmetic_version, std::size_t part) {
  return arithmetic_version == kOldArithmeticVersion ? old_partial_file_name(part)
                                                     : partial_file_name(part);
}

/// Throws Error (65) if a result was computed with another version of the arithmetic, so that its
/// values cannot be computed again.
void require_arithmetic(const std::string& path, std::int64_t version);

/// The damage of a tile, with its position.
Damage damaged_tile(const ResultInfo& info, TileId tile, const std::string& what);

/// Throws Error (65) unless `content` is the digest of the rows that a result was computed from.
void require_content(const MatrixSource& source, const Digest& content, const Digest& wanted);

}  // namespace bulksim
