#include "job/plan/memory_model.hpp"

#include <algorithm>

#include "blocks/fine_grid.hpp"
#include "bulksim/backend/pair_backend.hpp"
#include "job/input/row_reader.hpp"
#include "storage/parts/pair_runs.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kQuantizedEntry = 8;  // column and quantized value
constexpr std::int64_t kReadEntry = 12;      // column and float64 value
constexpr std::int64_t kRowOffset = 8;
constexpr int kMostWriters = 16;     // threads that hash and write copied tiles
constexpr int kTilesOnTheirWay = 4;  // in addition to those being written

std::int64_t rounded(std::int64_t rows, std::int64_t total) {
  return std::min(divide_up(rows, kRowBlockRows) * kRowBlockRows, total);
}

std::int64_t cpu_bytes(const CpuBackendOptions& backend, const Plan& plan, std::int64_t query_nnz,
                       const InputSurvey& items) {
  if (!plan.filter) {
    const std::int64_t tile_nnz = fullest(items, plan.grid.tile().items);
    return cpu_backend_bytes(backend, query_nnz, plan.columns, tile_nnz);
  }
  const std::int64_t band_nnz = fullest(items, items_of_a_pair_band(plan.grid, *plan.filter));
  return cpu_pair_backend_bytes(backend, *plan.filter, query_nnz, plan.columns, band_nnz);
}

std::int64_t cuda_bytes(const CudaBackendOptions& backend, const Plan& plan,
                        std::int64_t chunk_nnz) {
  return plan.filter ? cuda_pair_backend_host_bytes(backend, *plan.filter, chunk_nnz)
                     : cuda_backend_host_bytes(backend, chunk_nnz);
}

/// Runs of pairs on each thread, and later their merge.
std::int64_t pair_memory(const Plan& plan, int threads) {
  constexpr std::int64_t kPair = sizeof(std::int64_t) + sizeof(float);
  constexpr std::int64_t kStripe = 32;  // of a mirror image
  const std::int64_t run = kPairsOfARun * (2 * kPair + std::int64_t{sizeof(std::uint32_t)} +
                                           (plan.filter->mirrored ? kStripe : 0));
  const std::int64_t merge = 2 * std::int64_t{sizeof(std::int64_t)} * plan.grid.shape().queries +
                             kPairsMergedAtOnce * kPair;
  return std::max(threads * run, merge);
}

TileContent content_of(const Plan& plan) {
  if (!plan.softmax_scale) return TileContent::kValues;
  return plan.has_matrix() ? TileContent::kValuesAndPartials : TileContent::kPartials;
}

/// The options that do not depend on the rank.
CudaBackendOptions cuda_options(const Plan& plan) {
  CudaBackendOptions options;
  options.grid = plan.grid;
  options.content = content_of(plan);
  options.softmax_scale = plan.softmax_scale.value_or(options.softmax_scale);
  return options;
}

}  // namespace

std::int64_t fullest(const InputSurvey& survey, std::int64_t length) {
  std::int64_t most = 0;
  for (std::int64_t begin = 0; begin < survey.rows; begin += length) {
    most = std::max(most, survey.nnz_of({begin, std::min(begin + length, survey.rows)}));
  }
  return most;
}

Extent extent_of(const Schedule& schedule, const Plan& plan, const Surveys& surveys) {
  const TileShape tile = plan.grid.tile();
  Extent extent{};
  extent.batch_rows = std::min(schedule.query_batch_rows * tile.queries, surveys.queries.rows);
  extent.batch_nnz = fullest(surveys.queries, extent.batch_rows);
  extent.chunk_rows = rounded(schedule.chunk_columns * tile.items, surveys.items.rows);
  extent.chunk_nnz = fullest(surveys.items, extent.chunk_rows);
  return extent;
}

CpuBackendOptions cpu_options(const Plan& plan, const RankResources& resources,
                              const Schedule& schedule) {
  CpuBackendOptions options{plan.grid, plan.arithmetic, resources.threads};
  options.chunks_in_flight = schedule.chunks_in_flight;
  options.content = content_of(plan);
  options.softmax_scale = plan.softmax_scale.value_or(options.softmax_scale);
  return options;
}

CudaBackendOptions cuda_options(const Plan& plan, const RankResources& resources) {
  CudaBackendOptions options = cuda_options(plan);
  options.node_rank = resources.device->node_rank;
  options.writers = std::min(resources.threads, kMostWriters);
  options.pinned_tiles = options.writers + kTilesOnTheirWay;
  return options;
}

MemoryTable memory_table(const Plan& plan, const Surveys& surveys, const RankResources& resources,
                         const Schedule& schedule) {
  const auto [batch_rows, batch_nnz, chunk_rows, chunk_nnz] = extent_of(schedule, plan, surveys);
  const std::int64_t backend =
      resources.device
          ? cuda_bytes(cuda_options(plan, resources), plan, chunk_nnz)
          : cpu_bytes(cpu_options(plan, resources, schedule), plan, batch_nnz, surveys.items);
  const std::int64_t chunks = std::min(schedule.chunks_in_flight + 1,
                                       divide_up(plan.grid.columns(), schedule.chunk_columns));
  return {
      {"held before", resources.held},
      {"queries", kQuantizedEntry * batch_nnz + kRowOffset * batch_rows},
      {"reading",
       kReadEntry * std::max(fullest(surveys.items, std::min(kRowsAtOnce, chunk_rows)),
                             fullest(surveys.queries, std::min(kRowsAtOnce, batch_rows))) +
           2 * kRowOffset * kRowsAtOnce},
      {"item chunks", chunks * (kQuantizedEntry * chunk_nnz + kRowOffset * chunk_rows)},
      {"backend", backend},
      {"pairs", plan.filter ? pair_memory(plan, resources.threads) : 0},
      {"block sums", plan.softmax_scale ? block_sum_bytes(plan, resources.threads) : 0},
  };
}

cuda::DeviceMemory device_memory(const Schedule& schedule, const Plan& plan,
                                 const Surveys& surveys) {
  const Extent extent = extent_of(schedule, plan, surveys);
  const std::int64_t labels = std::min(extent.batch_nnz, plan.columns);
  const auto slice = cuda::SliceSize{extent.chunk_rows, extent.chunk_nnz, labels}.with_reserve();
  return {
      cuda::query_memory(extent.batch_rows, extent.batch_nnz, labels),
      2 * cuda::item_row_memory(slice),
      cuda::item_block_memory(plan.grid.tile(), slice, cuda::sort_scratch_estimate(slice.entries)),
      2 * cuda::tile_memory(cuda_options(plan), 1, plan.filter.has_value())};
}

std::int64_t block_sum_bytes(const Plan& plan, int threads) {
  constexpr std::int64_t kRowBytes = 16;
  constexpr std::int64_t kBlockBytes = 40;
  const FineGrid fine(plan.grid);
  return kRowBytes * plan.grid.shape().queries + kBlockBytes * fine.rows() * fine.columns() +
         std::int64_t{2} * threads * partials_per_tile(plan.grid) *
             std::int64_t{sizeof(SoftmaxPartial)};
}

}  // namespace bulksim
