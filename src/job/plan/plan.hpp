#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/core/checksum.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "job/config/job_config.hpp"
#include "job/input/survey.hpp"

namespace bulksim {

/// Which tiles are computed, where not all are: those with a block that an estimate selects.
struct TileSelection {
  Selection blocks;
  std::int64_t stride = 8;
  double softmax_scale = 20.0;

  bool operator==(const TileSelection&) const = default;
};

/// Everything that decides the bytes of a result, and nothing else: not the number of ranks, nor
/// the backend, hosts, paths or times.
struct Plan {
  Digest queries;  ///< content of the inputs
  Digest items;
  std::int64_t columns = 0;  ///< of both sides
  TileGrid grid;
  std::vector<RowRange> parts;                  ///< columns of tiles of each part file
  int arithmetic_version = kArithmeticVersion;  ///< that of an older program: results can be read
  FixedPoint arithmetic;
  double error_bound = 0.0;  ///< proven, for any pair of these rows; absolute
  ValueType value_type = ValueType::kFloat32;
  /// Cells of empty rows, under --zero-rows nan, or of tiles that are not selected.
  std::int64_t nan_cells = 0;
  ZeroRows zero_rows = ZeroRows::kZero;
  std::optional<PairFilterSpec> filter;  ///< the requested pairs; none: the full matrix
  Mode mode = Mode::kFull;
  std::optional<double> softmax_scale;  ///< of the block sums; none: they are not computed
  std::optional<TileSelection> selection;
  std::optional<IdInfo> query_ids;  ///< ids in the result
  std::optional<IdInfo> item_ids;
  std::optional<Digest> vocabulary;  ///< of the terms of the columns

  bool operator==(const Plan&) const = default;

  /// Whether the result contains /similarity.
  bool has_matrix() const { return !filter && mode == Mode::kFull; }
  /// Whether NaN may be in it.
  bool has_nan() const { return zero_rows == ZeroRows::kNan || selection; }

  /// Canonical form: the same plan has the same text.
  std::string to_json() const;
  /// Throws Error (65) on anything but the text of a plan of this arithmetic version or version 2.
  static Plan from_json(const std::string& text);
  /// XXH3-128 of `to_json()`.
  Digest id() const;
};

/// "cosine" or "dot".
std::string metric_name(Metric metric);

/// Makes the plan; the choice follows from the inputs and the options alone.
///
/// Throws Error (65) when the dimensions differ, when an empty row is refused, when rows are too
/// long for a proven 1e-6 or dot products too large, and Error (64) when a tile makes an HDF5 chunk
/// of 4 GiB or more.
Plan make_plan(const JobConfig& config, const Surveys& surveys);

/// Items per tile = 4,096, smaller powers of two down to 1,024 when there would be fewer than 32
/// columns of tiles; never more than the matrix has.
TileShape default_tile(MatrixShape shape);

/// The larger of 8 and one per 16 GiB of output, at most 240 and at most one per column of tiles.
std::int64_t default_parts(MatrixShape shape, std::int64_t tile_columns);

/// Predicted cost of each column of tiles, with fixed integer weights, so that every machine makes
/// the same parts.
std::vector<std::int64_t> tile_column_costs(const TileGrid& grid, const InputSurvey& items);

/// The largest possible number of pairs in `cells` cells of `queries` rows, with a filter. A shared
/// column makes at most one cell nonzero.
std::int64_t most_pairs(const Plan& plan, const Surveys& surveys, std::int64_t queries,
                        std::int64_t cells);

}  // namespace bulksim
