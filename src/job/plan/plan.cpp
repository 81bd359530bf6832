#include "job/plan/plan.hpp"

#include <algorithm>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "job/plan/error_bound.hpp"
#include "sparse/row_partition.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kTileQueries = 1024;
constexpr std::int64_t kMostTileItems = 4096;
constexpr std::int64_t kLeastTileItems = 1024;
constexpr std::int64_t kEnoughTileColumns = 32;

// About nanoseconds on one core: a pair is written in 2, a nonzero read and inverted in 10, a
// useful multiply-add done in half of one. Never change them: they are part of the meaning of a
// plan.
constexpr std::int64_t kPairWeight = 4;
constexpr std::int64_t kNonzeroWeight = 20;
constexpr std::int64_t kWorkWeight = 1;

std::int64_t common_columns(const JobConfig& config, const Surveys& surveys) {
  const std::int64_t items = surveys.items.columns;
  const std::int64_t queries = surveys.queries.columns;
  if (items != queries && config.dimensions == Dimensions::kMustAgree) {
    throw Error(ExitCode::kDataError,
                "'" + config.query_path() + "' has " + std::to_string(queries) + " columns and '" +
                    config.items + "' has " + std::to_string(items) +
                    "; if the narrower side only lacks empty columns, use --pad-dims");
  }
  return std::max(items, queries);
}

void check_zero_rows(const JobConfig& config, const std::string& path, const InputSurvey& survey) {
  if (config.zero_rows != ZeroRows::kError || survey.counts.zero_rows == 0) return;
  throw Error(ExitCode::kDataError, "'" + path + "' has " +
                                        std::to_string(survey.counts.zero_rows) +
                                        " empty rows, and --zero-rows error refuses them");
}

TileShape choose_tile(const JobConfig& config, MatrixShape shape) {
  if (!config.tile) return default_tile(shape);
  // a tile larger than the matrix would only add padding
  return {std::min(config.tile->queries, std::max<std::int64_t>(shape.queries, 1)),
          std::min(config.tile->items, std::max<std::int64_t>(shape.items, 1))};
}

/// The two products from which every size follows fit in 64 bits.
void check_extent(const Surveys& surveys) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(surveys.queries.rows, surveys.items.rows, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{8}, &bytes)) {
    throw Error(ExitCode::kIoError, std::to_string(surveys.queries.rows) + " x " +
                                        std::to_string(surveys.items.rows) +
                                        " values are more than any file system can hold");
  }
}

/// An empty row makes all its cells NaN; a cell of two such rows counts once.
std::int64_t cells_without_cosine(const Surveys& surveys) {
  const std::int64_t queries = surveys.queries.counts.zero_rows;
  const std::int64_t items = surveys.items.counts.zero_rows;
  return queries * surveys.items.rows + items * surveys.queries.rows - queries * items;
}

/// Throws Error (64) for options that these inputs cannot satisfy. Where both sides are the same
/// rows, each pair is searched once; top-k lists are not mirrored: the threshold of its query
/// avoids three quarters of the work of a pair, the lower threshold of its two rows almost none.
PairFilterSpec checked_filter(PairFilterSpec filter, const JobConfig& config, MatrixShape shape) {
  if (config.zero_rows == ZeroRows::kNan) {
    throw Error(ExitCode::kUsage,
                "--zero-rows nan applies only to the full matrix, because pairs cannot be NaN: use "
                "--zero-rows zero or error");
  }
  if (filter.keep != Keep::kAll && shape.items > kMostRankedItems) {
    throw Error(ExitCode::kUsage, "--top-k and --sample-per-query take at most 2^32 items");
  }
  filter.queries = {std::min(filter.queries.begin, shape.queries),
                    std::min(filter.queries.end, shape.queries)};
  filter.items = {std::min(filter.items.begin, shape.items),
                  std::min(filter.items.end, shape.items)};
  const RowRange all{0, shape.queries};
  if (config.queries.empty() && filter.keep == Keep::kAll && filter.is_two_sided() &&
      filter.queries == all && filter.items == all) {
    filter.mirrored = true;
    filter.partners = filter.partners == Partners::kAll ? Partners::kNotEarlier : Partners::kLater;
  }
  return filter;
}

bool wants_block_sums(const JobConfig& config) {
  if (config.block_sums != BlockSumsWanted::kAuto) return config.block_sums == BlockSumsWanted::kOn;
  return !config.filter && !config.select && config.metric == Metric::kCosine &&
         output_form(config.output) == OutputForm::kVersions;
}

}  // namespace

Plan make_plan(const JobConfig& config, const Surveys& surveys) {
  Plan plan;
  plan.columns = common_columns(config, surveys);
  check_zero_rows(config, config.query_path(), surveys.queries);
  check_zero_rows(config, config.items, surveys.items);
  check_extent(surveys);
  plan.queries = surveys.queries.content();
  plan.items = surveys.items.content();
  plan.arithmetic = choose_arithmetic(surveys, config.metric);
  plan.error_bound = proven_bound(surveys, plan.arithmetic);
  plan.value_type = config.value_type;
  if (plan.value_type == ValueType::kFloat16) {
    plan.error_bound +=
        half_bound(config.metric == Metric::kCosine ? 1.0 : largest_product(surveys));
  }
  plan.vocabulary = surveys.items.vocabulary;
  const MatrixShape shape{surveys.queries.rows, surveys.items.rows};
  plan.grid = TileGrid(shape, choose_tile(config, shape));
  if (config.filter) plan.filter = checked_filter(*config.filter, config, shape);
  plan.mode = config.mode;
  if (plan.grid.count() == 0) return plan;
  if (wants_block_sums(config)) plan.softmax_scale = config.softmax_scale;
  if (config.select) plan.selection = {*config.select, config.stride, config.softmax_scale};
  plan.query_ids = surveys.queries.ids;
  plan.item_ids = surveys.items.ids;
  if (config.zero_rows == ZeroRows::kNan) {
    plan.zero_rows = ZeroRows::kNan;
    plan.nan_cells = cells_without_cosine(surveys);
  }
  const std::int64_t columns = plan.grid.columns();
  const std::int64_t parts =
      std::min(config.parts.value_or(default_parts(shape, columns)), columns);
  plan.parts = partition_by_cost(tile_column_costs(plan.grid, surveys.items), parts);
  std::erase_if(plan.parts, [](const RowRange& part) { return part.empty(); });
  return plan;
}

TileShape default_tile(MatrixShape shape) {
  std::int64_t items = kMostTileItems;
  while (items > kLeastTileItems && divide_up(shape.items, items) < kEnoughTileColumns)
    items /= 2;
  return {std::clamp<std::int64_t>(shape.queries, 1, kTileQueries),
          std::clamp<std::int64_t>(shape.items, 1, items)};
}

std::int64_t default_parts(MatrixShape shape, std::int64_t tile_columns) {
  // ceil(4 queries items / 2^34), written so that it stays in 64 bits
  const std::int64_t by_size = divide_up(shape.queries * shape.items, std::int64_t{1} << 32);
  return std::min({std::max<std::int64_t>(8, by_size), kMostParts, tile_columns});
}

std::vector<std::int64_t> tile_column_costs(const TileGrid& grid, const InputSurvey& items) {
  std::vector<std::int64_t> costs;
  for (std::int64_t column = 0; column < grid.columns(); ++column) {
    const RowRange rows = grid.items(column);
    costs.push_back(kPairWeight * grid.shape().queries * rows.size() +
                    kNonzeroWeight * items.nnz_of(rows) + kWorkWeight * items.work_of(rows));
  }
  return costs;
}

std::int64_t most_pairs(const Plan& plan, const Surveys& surveys, std::int64_t queries,
                        std::int64_t cells) {
  const PairFilterSpec& filter = *plan.filter;
  const bool is_nonzero = filter.nonzero_only || filter.at_least > 0.0f || filter.below <= 0.0f;
  std::int64_t most = cells;
  if (is_nonzero) most = std::min(most, surveys.items.work_of({0, surveys.items.rows}));
  if (filter.keep != Keep::kAll) most = std::min(most, queries * filter.count);
  return most;
}

}  // namespace bulksim
