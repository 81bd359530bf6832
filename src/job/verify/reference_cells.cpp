#include <algorithm>
#include <cmath>
#include <memory>

#include "blocks/fine_grid.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "core/half.hpp"
#include "job/verify/verification.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_files.hpp"

namespace bulksim {

namespace {

constexpr int kCellsOfATile = 64;
constexpr double kReferenceError = 1e-12;  // of the sums in float64, in proportion

/// Canonical rows of an input, unquantized and quantized.
struct Rows {
  CsrMatrix values;
  QuantizedRows quantized;
  std::vector<RowSize> sizes;
};

/// Reads rows of an input in canonical form.
class CanonicalReader {
 public:
  CanonicalReader(const MatrixSource& source, FixedPoint arithmetic)
      : source_(source), arithmetic_(arithmetic) {}

  const std::string& path() const { return source_.info().path; }
  std::int64_t rows() const { return source_.info().rows; }

  Rows read(RowRange range) {
    Rows rows;
    source_.read(range, rows.values);
    canonicalize(rows.values, Irregular::kAccept, path(), range.begin);
    const CsrView view = rows.values.view();
    for (std::int64_t row = 0; row < view.rows(); ++row)
      rows.sizes.push_back(row_size(view.values_of(row)));
    append_quantized_rows(view, arithmetic_, rows.quantized);
    return rows;
  }

  /// Reads all rows. Throws Error (65) unless they have the expected digest.
  void require(const Digest& wanted, std::int64_t count) const {
    ContentHasher content;
    CsrMatrix row_block;
    for (std::int64_t begin = 0; begin < rows(); begin += kRowBlockRows) {
      source_.read({begin, std::min(begin + kRowBlockRows, rows())}, row_block);
      canonicalize(row_block, Irregular::kAccept, path(), begin);
      content.add(row_block_digest(row_block.view()));
    }
    require_content(source_, rows() == count ? content.digest() : Digest{}, wanted);
  }

 private:
  const MatrixSource& source_;
  FixedPoint arithmetic_;
};

/// From the values as stored in the inputs; for cosines they are scaled by powers of two, so that
/// no product overflows.
double float64_score(const Rows& queries, std::int64_t q, const Rows& items, std::int64_t i,
                     Metric metric) {
  const auto q_columns = queries.values.view().columns_of(q);
  const auto q_values = queries.values.view().values_of(q);
  const auto i_columns = items.values.view().columns_of(i);
  const auto i_values = items.values.view().values_of(i);
  const bool is_cosine = metric == Metric::kCosine;
  const int q_exponent = is_cosine ? queries.sizes[q].exponent : 0;
  const int i_exponent = is_cosine ? items.sizes[i].exponent : 0;
  double sum = 0.0;
  for (std::size_t a = 0, b = 0; a < q_columns.size() && b < i_columns.size();) {
    if (q_columns[a] == i_columns[b]) {
      sum += times_power_of_two(q_values[a++], -q_exponent) *
             times_power_of_two(i_values[b++], -i_exponent);
    } else if (q_columns[a] < i_columns[b]) {
      ++a;
    } else {
      ++b;
    }
  }
  if (!is_cosine) return sum;
  const double norms = queries.sizes[q].norm() * items.sizes[i].norm();
  return norms > 0 ? sum / norms : 0.0;
}

bool is_zero_row(const Rows& rows, std::int64_t row) {
  return rows.values.view().columns_of(row).empty();
}

/// Compares cells of one tile with both references.
bool agrees(TileFiles& files, const ResultInfo& info, std::int64_t number, const Rows& queries,
            const Rows& items) {
  const TileId tile = info.grid.id(number);
  const RowRange rows = info.grid.queries(tile.row);
  const RowRange columns = info.grid.items(tile.column);
  for (int cell = 0; cell < kCellsOfATile; ++cell) {
    const std::uint64_t random = mix(number, cell);
    const auto q =
        static_cast<std::int64_t>((random >> 32) % static_cast<std::uint64_t>(rows.size()));
    const std::int64_t i = (random & 0xffffffff) % static_cast<std::uint64_t>(columns.size());
    float stored = 0.0F;
    files.read(tile, {&stored, 1}, q * info.grid.tile().items + i);
    const bool has_selection = info.plan && info.plan->selection;
    if (has_selection && std::isnan(stored)) continue;
    if (!has_selection && info.has_nan_rows &&
        (is_zero_row(queries, rows.begin + q) || is_zero_row(items, i))) {
      if (!std::isnan(stored)) return false;
      continue;
    }
    float exact = exact_score(queries.quantized, rows.begin + q, items.quantized, i);
    if (info.value_type == ValueType::kFloat16) exact = widen_half(round_to_half(exact));
    const double real = float64_score(queries, rows.begin + q, items, i, info.arithmetic.metric);
    const double error = std::fabs(static_cast<double>(stored) - real);
    if (stored != exact || !(error <= info.error_bound + std::fabs(real) * kReferenceError)) {
      return false;
    }
  }
  return true;
}

/// Compares the partials of one row of a tile with merges of that row and every item.
bool partials_agree(PartialFiles& files, const ResultInfo& info, std::int64_t number,
                    const Rows& queries, const Rows& items) {
  const TileId tile = info.grid.id(number);
  const RowRange rows = info.grid.queries(tile.row);
  const auto row =
      static_cast<std::int64_t>(mix(number, 0) % static_cast<std::uint64_t>(rows.size()));
  std::vector<SoftmaxPartial> partials(partials_per_tile(info.grid));
  files.read(tile, partials);
  std::vector<float> cosines;
  for (std::int64_t item = 0; item < info.grid.items(tile.column).size(); ++item) {
    cosines.push_back(exact_score(queries.quantized, rows.begin + row, items.quantized, item));
  }
  const std::size_t blocks = FineGrid(info.grid).columns_of_a_tile();
  std::span<const float> left(cosines);
  for (const SoftmaxPartial& partial : std::span(partials).subspan(row * blocks, blocks)) {
    const auto block = left.first(std::min(left.size(), std::size_t{kFineRows}));
    left = left.subspan(block.size());
    const bool exists = !block.empty() && !is_zero_row(queries, rows.begin + row);
    if (partial != (exists ? softmax_partial(block, 0, exp_scale(*info.plan->softmax_scale))
                           : SoftmaxPartial{})) {
      return false;
    }
  }
  return true;
}

}  // namespace

void require_content(const MatrixSource& source, const Digest& content, const Digest& wanted) {
  if (content == wanted) return;
  throw Error(
      ExitCode::kDataError,
      "'" + source.info().path + "' does not contain the rows from which this result was computed");
}

void require_arithmetic(const std::string& path, std::int64_t version) {
  if (version == kArithmeticVersion) return;
  throw Error(
      ExitCode::kDataError,
      "'" + path + "' was computed with arithmetic version " + std::to_string(version) +
          ", and this program computes with version " + std::to_string(kArithmeticVersion) +
          ": its digests can be verified, its values not computed again; run bulksim compute "
          "for a new result");
}

void verify_against(FileCalls& calls, const ResultInfo& info, const SourcePair& inputs,
                    Verdict& verdict) {
  CanonicalReader query_reader(*inputs.queries, info.arithmetic);
  CanonicalReader item_reader(*inputs.items, info.arithmetic);
  query_reader.require(info.queries, info.grid.shape().queries);
  item_reader.require(info.items, info.grid.shape().items);
  if (info.grid.count() == 0) return;
  TileFiles files(calls, info.grid, info.parts.paths, info.parts.layouts, TileAccess::kRead);
  PartialFiles partials(calls, info.grid, info.parts.partials, info.parts.layouts,
                        TileAccess::kRead);
  const Rows queries = query_reader.read({0, info.grid.shape().queries});
  std::size_t part = 0;
  for (std::int64_t column = 0; column < info.grid.columns(); ++column) {
    while (info.parts.layouts[part].tile_columns.end <= column)
      ++part;
    if (info.readable[part] == 0) continue;
    const Rows items = item_reader.read(info.grid.items(column));
    for (std::int64_t row = 0; row < info.grid.rows(); ++row) {
      const std::int64_t number = info.grid.number({row, column});
      if (info.parts.has_partials() && partials.digest_of_whole({row, column}) &&
          !partials_agree(partials, info, number, queries, items)) {
        verdict.damage.push_back(damaged_tile(
            info, {row, column}, "softmax partials of the tile do not match the inputs"));
      }
      if (!info.parts.has_matrix()) continue;
      verdict.cells += kCellsOfATile;
      if (!agrees(files, info, number, queries, items)) {
        verdict.damage.push_back(damaged_tile(
            info, {row, column}, "cells of the tile are not the scores of the inputs"));
      }
    }
  }
}

}  // namespace bulksim
